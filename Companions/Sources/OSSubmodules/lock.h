// Intentionally empty: what `import os.lock` brings is declared in Swift, in the module `os`.
