"""How a tree of the engine is made: jars, then the class-data archive and the measured figure, then the manifest."""
