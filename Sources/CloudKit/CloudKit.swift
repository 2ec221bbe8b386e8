// As on Apple's systems, whoever imports CloudKit has Foundation.
@_exported public import Foundation
@_exported public import VirgaCloudKit
// For `NSPredicate(format:)` and `NSSortDescriptor(key:ascending:)`.
@_exported public import VirgaPredicates
