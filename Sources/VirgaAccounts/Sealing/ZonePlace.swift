import VirgaAuth
package import VirgaModel
import VirgaWire

/// A zone as keys and values are bound to it: the same for its owner and for those it is shared with. Whose zone it is
/// follows from the keys, which differ from owner to owner.
package struct ZonePlace: Hashable, Sendable {
  package var container: ContainerID
  package var environment: Environment
  package var zone: ZoneName

  package init(container: ContainerID, environment: Environment, zone: ZoneName) {
    self.container = container
    self.environment = environment
    self.zone = zone
  }

  var parts: [String] { [container.rawValue, environment.rawValue, zone.rawValue] }
}
