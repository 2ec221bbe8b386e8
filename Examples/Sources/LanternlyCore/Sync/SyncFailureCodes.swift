import CloudKit
import Foundation

extension SyncNotes.Failure {
  // Failures that CloudKit has one code for, and people several remedies.
  static let untrusted = "certificateUntrusted"
  static let insecure = "secureConnectionFailed"
  static let certificates = "certificateFile"
  static let proxyLimit = "proxyLimit"

  /// The name of a failure, by which it is told and kept.
  static func code(of error: CKError) -> String {
    switch (error.userInfo[NSUnderlyingErrorKey] as? URLError)?.code {
    case .serverCertificateUntrusted?: return untrusted
    case .secureConnectionFailed?: return insecure
    case .clientCertificateRejected?: return certificates
    default: break
    }
    // The service itself says in other words that something is too large.
    let status = (error.userInfo["VirgaHTTPStatus"] as? NSNumber)?.intValue
    if status == 413 && error.userInfo["VirgaServerErrorCode"] == nil { return proxyLimit }
    return "\(error.code)"
  }
}
