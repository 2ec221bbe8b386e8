import Foundation

/// The text of an error for the people who use a program: what happened, never the name of a type.
public func plainText(of error: any Error) -> String {
  switch error {
  // Foundation's, and CloudKit's: their descriptions are for those who write programs.
  case let error as any CustomNSError: error.localizedDescription
  case let error as any LocalizedError: error.localizedDescription
  case _ where type(of: error) is NSError.Type: error.localizedDescription
  case is CancellationError: "it was cancelled"
  case let error as any CustomStringConvertible: error.description
  default: "no more is known"
  }
}
