/** NetworkPolicy (upstream: pkg/apis/networking). */
import type {
  IPBlock,
  NetworkPolicy,
  NetworkPolicyPeer,
  NetworkPolicyPort,
} from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goList } from '../../../machinery/values/go-syntax.ts'
import {
  parseIpRange,
  rangeContains,
  validateIpRange,
} from '../../../machinery/validation/ip-address.ts'
import { validateLabelSelector } from '../../../machinery/validation/label-validation.ts'
import { portName, portNumber } from '../../../machinery/validation/names.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { validation } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import { validateOneOf } from '../rules/field-rules.ts'

const protocols = ['TCP', 'UDP', 'SCTP']
const policyTypes = ['Ingress', 'Egress']

function validatePort({ protocol, port, endPort }: NetworkPolicyPort, at: FieldPath): void {
  validateOneOf(protocol, protocols, at.child('protocol'))
  const endAt = at.child('endPort')
  if (port === undefined) {
    if (endPort !== undefined) {
      endAt.invalid(endPort, 'may not be specified when `port` is not specified')
    }
  } else if (typeof port === 'number') {
    at.child('port').invalidEach(port, portNumber(port))
    if (endPort === undefined) return
    if (endPort < port) endAt.invalid(endPort, 'must be greater than or equal to `port`')
    endAt.invalidEach(endPort, portNumber(endPort))
  } else {
    if (endPort !== undefined) {
      endAt.invalid(endPort, 'may not be specified when `port` is non-numeric')
    }
    at.child('port').invalidEach(port, portName(port))
  }
}

function validateBlock({ cidr, except }: IPBlock, at: FieldPath): void {
  if (!cidr) {
    at.child('cidr').required()
    return
  }
  validateIpRange(cidr, at.child('cidr'))
  const range = parseIpRange(cidr)
  if (range === undefined) return
  for (const [i, text] of (except ?? []).entries()) {
    const exceptAt = at.child('except').index(i)
    validateIpRange(text, exceptAt)
    const part = parseIpRange(text)
    if (part === undefined) continue
    const isInside = rangeContains(range, { family: part.family, value: part.base })
    if (!isInside || range.prefixLength >= part.prefixLength) {
      exceptAt.invalid(text, 'must be a strict subset of `cidr`')
    }
  }
}

function validatePeer(peer: NetworkPolicyPeer, at: FieldPath): void {
  const { podSelector, namespaceSelector, ipBlock } = peer
  if (podSelector) validateLabelSelector(podSelector, at.child('podSelector'))
  if (namespaceSelector) validateLabelSelector(namespaceSelector, at.child('namespaceSelector'))
  if (ipBlock) validateBlock(ipBlock, at.child('ipBlock'))
  if (!podSelector && !namespaceSelector && !ipBlock) at.required('must specify a peer')
  else if (ipBlock && (podSelector || namespaceSelector)) {
    at.forbidden('may not specify both ipBlock and another peer')
  }
}

interface Rule {
  readonly ports: readonly NetworkPolicyPort[] | undefined
  readonly peers: readonly NetworkPolicyPeer[] | undefined
}

function validateRule({ ports, peers }: Rule, at: FieldPath, peersField: string): void {
  for (const [i, port] of (ports ?? []).entries()) validatePort(port, at.child('ports').index(i))
  for (const [i, peer] of (peers ?? []).entries()) validatePeer(peer, at.child(peersField).index(i))
}

function validate(object: KubeObject, root: FieldPath): void {
  const at = root.child('spec')
  const { podSelector, ingress, egress, policyTypes: types } = (object as NetworkPolicy).spec ?? {}
  validateLabelSelector(podSelector, at.child('podSelector'))
  for (const [i, { ports, from }] of (ingress ?? []).entries()) {
    validateRule({ ports, peers: from }, at.child('ingress').index(i), 'from')
  }
  for (const [i, { ports, to }] of (egress ?? []).entries()) {
    validateRule({ ports, peers: to }, at.child('egress').index(i), 'to')
  }
  const typesAt = at.child('policyTypes')
  if (types && types.length > policyTypes.length) {
    const shown = goList(types, 'networking.PolicyType')
    typesAt.invalid(shown, 'may not specify more than two policyTypes')
  } else {
    for (const [i, type] of (types ?? []).entries()) {
      validateOneOf(type, policyTypes, typesAt.index(i))
    }
  }
}

export const networkPolicyStrategy: Strategy = {
  hasGeneration: true,
  applyDefaults(object) {
    const { spec } = object as NetworkPolicy
    if (!spec) return
    for (const { ports } of [...(spec.ingress ?? []), ...(spec.egress ?? [])]) {
      for (const port of ports ?? []) port.protocol ??= 'TCP'
    }
    if (spec.policyTypes?.length) return
    spec.policyTypes = spec.egress?.length ? ['Ingress', 'Egress'] : ['Ingress']
  },
  ...validation(validate),
}
