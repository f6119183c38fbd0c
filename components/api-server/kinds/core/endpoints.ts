/** Endpoints (upstream: core/validation ValidateEndpoints). */
import type { EndpointAddress, EndpointPort, Endpoints } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { validateIpAddress } from '../../../machinery/validation/ip-address.ts'
import { validateLabelName } from '../../../machinery/validation/label-validation.ts'
import { portNumber } from '../../../machinery/validation/names.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'
import {
  validateLabel1123,
  validateRequiredOneOf,
  validateSubdomain,
} from '../rules/field-rules.ts'
import { endpointAddressRule } from '../rules/own-endpoint.ts'
import { validation } from '../rules/strategy-checks.ts'

const protocols = ['SCTP', 'TCP', 'UDP']

function validateAddress(
  { ip, hostname, nodeName }: EndpointAddress,
  at: FieldPath,
  rule: ReturnType<typeof endpointAddressRule>,
): void {
  const ipAt = at.child('ip')
  validateIpAddress(ip, ipAt)
  if (hostname) validateLabel1123(hostname, at.child('hostname'))
  if (nodeName !== undefined) validateSubdomain(nodeName, at.child('nodeName'))
  rule(ip ?? '', ipAt)
}

function validatePort(port: EndpointPort, at: FieldPath, requireName: boolean): void {
  if (port.name) validateLabel1123(port.name, at.child('name'))
  else if (requireName) at.child('name').required()
  at.child('port').invalidEach(port.port ?? 0, portNumber(port.port ?? 0))
  validateRequiredOneOf(port.protocol, protocols, at.child('protocol'))
  if (port.appProtocol !== undefined) validateLabelName(port.appProtocol, at.child('appProtocol'))
}

function validateEndpoints(endpoints: Endpoints, root: FieldPath, context: StrategyContext): void {
  const rule = endpointAddressRule(endpoints, context)
  for (const [i, subset] of (endpoints.subsets ?? []).entries()) {
    const at = root.child('subsets').index(i)
    const { addresses = [], notReadyAddresses = [], ports = [] } = subset
    if (addresses.length === 0 && notReadyAddresses.length === 0) {
      at.required('must specify `addresses` or `notReadyAddresses`')
    }
    for (const [field, list] of Object.entries({ addresses, notReadyAddresses })) {
      for (const [j, address] of list.entries()) {
        validateAddress(address, at.child(field).index(j), rule)
      }
    }
    for (const [j, port] of ports.entries()) {
      validatePort(port, at.child('ports').index(j), ports.length > 1)
    }
  }
}

export const endpointsStrategy: Strategy = {
  applyDefaults(object) {
    for (const { ports } of (object as Endpoints).subsets ?? []) {
      for (const port of ports ?? []) port.protocol ||= 'TCP'
    }
  },
  ...validation<Endpoints>(validateEndpoints),
}
