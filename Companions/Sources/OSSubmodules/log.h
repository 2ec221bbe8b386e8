// Intentionally empty: what `import os.log` brings is declared in Swift, in the module `os`.
