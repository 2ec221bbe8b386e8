// Intentionally empty: what `import os.signpost` brings is declared in Swift, in the module `os`.
