@_exported public import VirgaCloudKit
