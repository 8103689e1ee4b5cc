"""`python -m infra.parity` writes docs/parity.md. What is missing there is the test's to complain about."""

from infra.parity import table

if __name__ == "__main__":
    table.DOCUMENT.write_text(table.document(table.rows()))
