import VirgaAuth
import VirgaModel

/// What became of the account's key when a device was removed.
package enum KeyReplacement: Hashable, Sendable {
  /// The others have another one; the device that was removed cannot open what is encrypted from now on.
  case replaced
  /// The account has no key yet, as far as this device and the server know.
  case nothingToReplace
  /// The device that was removed can still open what is encrypted from now on, if it comes by it.
  case kept
}
