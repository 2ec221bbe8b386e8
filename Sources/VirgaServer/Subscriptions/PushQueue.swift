package import VirgaModel
import VirgaWire

/// Whose queue of notifications a push token names.
package struct PushQueue: Hashable, Sendable {
  package var container: ContainerID
  package var environment: Environment
  package var user: UserName
  package var device: String?
  package var client: String?
}
