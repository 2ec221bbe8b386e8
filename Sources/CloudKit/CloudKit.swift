@_exported public import VirgaCloudKit
// For `NSPredicate(format:)` and `NSSortDescriptor(key:ascending:)`.
@_exported public import VirgaPredicates
