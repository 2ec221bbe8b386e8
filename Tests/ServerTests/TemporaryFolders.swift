import TestSupport

/// So that each file here has it without an import.
typealias TemporaryFolder = TestSupport.TemporaryFolder
