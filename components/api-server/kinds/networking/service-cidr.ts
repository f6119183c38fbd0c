/** ServiceCIDR and IPAddress, beta kinds of the networking group. */
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goList, goQuote } from '../../../machinery/values/go-syntax.ts'
import {
  formatIpAddress,
  isDualStack,
  parseIpAddress,
  validateIpRange,
} from '../../../machinery/validation/ip-address.ts'
import { pathSegment, subdomain } from '../../../machinery/validation/names.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import type { Strategy } from '../strategy.ts'
import { goJson, validateImmutable } from '../rules/field-rules.ts'
import { validateRequiredSegment } from '../rules/object-references.ts'

const maxRanges = 2

function rangesOf(object: KubeObject): readonly string[] {
  return (object['spec'] as { cidrs?: string[] } | undefined)?.cidrs ?? []
}

function validateRanges(object: KubeObject): FieldError[] {
  const at = FieldPath.root('spec').child('cidrs')
  const ranges = rangesOf(object)
  if (ranges.length === 0) at.required('at least one CIDR required')
  else if (ranges.length > maxRanges) {
    at.invalid(goJson(object['spec']), 'may only hold up to 2 values')
  } else if (ranges.length === maxRanges && !isDualStack(ranges)) {
    const why =
      'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64'
    at.invalid(goList(ranges), why)
  } else for (const [i, range] of ranges.entries()) validateIpRange(range, at.index(i))
  return at.errors
}

export const serviceCidrStrategy: Strategy = {
  prepareForCreate(object) {
    object['status'] = {}
  },
  validate: validateRanges,
  validateUpdate(object, old) {
    const at = FieldPath.root('spec').child('cidrs')
    const now = rangesOf(object)
    validateImmutable({ now, before: rangesOf(old), shown: goList(now) }, at)
    return at.errors
  },
}

interface ParentReference {
  readonly group?: string
  readonly resource?: string
  readonly namespace?: string
  readonly name?: string
}

function parentOf(object: KubeObject): ParentReference | undefined {
  return (object['spec'] as { parentRef?: ParentReference } | undefined)?.parentRef ?? undefined
}

function validateAddress(object: KubeObject): FieldError[] {
  const root = FieldPath.root()
  const { name = '' } = object.metadata
  const nameAt = root.child('metadata').child('name')
  const address = parseIpAddress(name)
  if (address === undefined) nameAt.invalid(name, `ParseAddr(${goQuote(name)}): unable to parse IP`)
  else if (formatIpAddress(address) !== name) {
    nameAt.invalid(name, 'must be a canonical format IP address')
  }
  const at = root.child('spec').child('parentRef')
  const parent = parentOf(object)
  if (parent === undefined) at.required()
  else {
    const { group, resource, namespace } = parent
    if (group) at.child('group').invalidEach(group, subdomain(group))
    validateRequiredSegment(resource, at.child('resource'))
    validateRequiredSegment(parent.name, at.child('name'))
    if (namespace) at.child('namespace').invalidEach(namespace, pathSegment(namespace))
  }
  return root.errors
}

export const ipAddressStrategy: Strategy = {
  nameForm: 'path',
  validate: validateAddress,
  validateUpdate(object, old) {
    const at = FieldPath.root('spec').child('parentRef')
    validateImmutable({ now: parentOf(object), before: parentOf(old) }, at)
    return at.errors
  },
}
