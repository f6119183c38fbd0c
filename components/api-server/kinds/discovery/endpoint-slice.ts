/** EndpointSlice (upstream: pkg/apis/discovery/validation, pkg/registry/discovery/endpointslice). */
import { labelKey } from '../../../api/dialect.ts'
import type {
  DiscoveryEndpointPort,
  Endpoint,
  EndpointSlice,
} from '../../../api/generated/types.ts'
import { validateFullyQualifiedDomain } from '../../../machinery/validation/domain-names.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { validateIpAddressOf } from '../../../machinery/validation/ip-address.ts'
import {
  validateLabelName,
  validateLabels,
} from '../../../machinery/validation/label-validation.ts'
import { labelValue } from '../../../machinery/validation/names.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'
import {
  semanticEqual,
  validateImmutable,
  validateLabel1123,
  validateRequiredOneOf,
  validateSubdomain,
} from '../rules/field-rules.ts'
import { endpointAddressRule } from '../rules/own-endpoint.ts'
import { validation } from '../rules/strategy-checks.ts'

const mostEndpoints = 1000
const mostAddresses = 100
const mostPorts = 20_000
const mostZoneHints = 8
const mostTopologyLabels = 16
const addressTypes = ['FQDN', 'IPv4', 'IPv6']
const protocols = ['SCTP', 'TCP', 'UDP']

function validateSlice(slice: EndpointSlice, root: FieldPath, context: StrategyContext): void {
  const { addressType = '', endpoints, ports } = slice
  validateRequiredOneOf(addressType, addressTypes, root.child('addressType'))
  const endpointsAt = root.child('endpoints')
  const list = endpoints ?? []
  if (list.length > mostEndpoints) endpointsAt.tooMany(list.length, mostEndpoints)
  else {
    const rule = endpointAddressRule(slice, context)
    for (const [i, endpoint] of list.entries()) {
      validateEndpoint(endpoint, endpointsAt.index(i), { addressType, rule })
    }
  }
  validatePorts(ports ?? [], root.child('ports'))
}

function validateEndpoint(
  endpoint: Endpoint,
  at: FieldPath,
  { addressType, rule }: { addressType: string; rule: ReturnType<typeof endpointAddressRule> },
): void {
  const { nodeName, hostname, deprecatedTopology = {}, hints } = endpoint
  const addresses = endpoint.addresses ?? []
  const addressesAt = at.child('addresses')
  if (addresses.length === 0) addressesAt.required('must contain at least 1 address')
  else if (addresses.length > mostAddresses) addressesAt.tooMany(addresses.length, mostAddresses)
  for (const [i, address] of addresses.entries()) {
    const addressAt = addressesAt.index(i)
    if (addressType === 'FQDN') validateFullyQualifiedDomain(address, addressAt)
    else if (addressType === 'IPv4' || addressType === 'IPv6') {
      validateIpAddressOf(addressType, address, addressAt)
      rule(address, addressAt)
    }
  }
  if (nodeName !== undefined) validateSubdomain(nodeName, at.child('nodeName'))
  const topologyAt = at.child('deprecatedTopology')
  const labels = Object.keys(deprecatedTopology).length
  if (labels > mostTopologyLabels) topologyAt.tooMany(labels, mostTopologyLabels)
  validateLabels(deprecatedTopology, topologyAt)
  if (hostname !== undefined) validateLabel1123(hostname, at.child('hostname'))
  const zones = hints?.forZones ?? []
  const zonesAt = at.child('hints').child('forZones')
  if (zones.length > mostZoneHints) {
    zonesAt.tooMany(zones.length, mostZoneHints)
    return
  }
  const seen = new Set<string>()
  for (const [i, { name = '' }] of zones.entries()) {
    const nameAt = zonesAt.index(i).child('name')
    if (seen.has(name)) nameAt.duplicate(name)
    seen.add(name)
    nameAt.invalidEach(name, labelValue(name))
  }
}

function validatePorts(ports: readonly DiscoveryEndpointPort[], at: FieldPath): void {
  if (ports.length > mostPorts) {
    at.tooMany(ports.length, mostPorts)
    return
  }
  const names = new Set<string>()
  for (const [i, { name = '', protocol, appProtocol }] of ports.entries()) {
    const portAt = at.index(i)
    if (name !== '') validateLabel1123(name, portAt.child('name'))
    if (names.has(name)) portAt.child('name').duplicate(name)
    names.add(name)
    validateRequiredOneOf(protocol, protocols, portAt.child('protocol'))
    if (appProtocol !== undefined) validateLabelName(appProtocol, portAt.child('appProtocol'))
  }
}

/** v1 has fields of its own for zone and node; the map of the beta version is not taken any more. */
function dropTopology(object: KubeObject): void {
  for (const endpoint of (object as EndpointSlice).endpoints ?? []) {
    delete endpoint.deprecatedTopology
  }
}

/** What an earlier release stored stays until the endpoints change; the names of nodes in it stay even then. */
function keepOrDropTopology(
  object: KubeObject,
  oldObject: KubeObject,
  { dialect }: StrategyContext,
): void {
  const hostLabel = labelKey(dialect, '', 'hostname')
  const endpoints = (object as EndpointSlice).endpoints ?? []
  const old = (oldObject as EndpointSlice).endpoints ?? []
  if (semanticEqual(endpoints, old)) return
  const nodes = old.map(({ deprecatedTopology }) => deprecatedTopology?.[hostLabel])
  for (const endpoint of endpoints) {
    const node = endpoint.deprecatedTopology?.[hostLabel]
    if (node !== undefined && nodes.includes(node)) endpoint.nodeName ??= node
    delete endpoint.deprecatedTopology
  }
}

export const endpointSliceStrategy: Strategy = {
  hasGeneration: true,
  applyDefaults(object) {
    for (const port of (object as EndpointSlice).ports ?? []) {
      port.name ??= ''
      port.protocol ??= 'TCP'
    }
  },
  prepareForCreate: dropTopology,
  prepareForUpdate: keepOrDropTopology,
  ...validation<EndpointSlice>(validateSlice, ({ object, old }, root) => {
    const change = { now: object.addressType, before: old.addressType }
    validateImmutable(change, root.child('addressType'))
  }),
}
