#!/bin/sh
# What is in the image, as SPDX.
set -eu
python3 "$BAKE_FILES/bake/sbom.py" --name "ringmaster-$ENGINE-$ENGINE_VERSION-$BUILD_ID" \
    --jars /opt/ringmaster/engines --output /opt/ringmaster/sbom.spdx.json
chmod 0644 /opt/ringmaster/sbom.spdx.json
