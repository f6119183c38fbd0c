/** IPAddress (upstream: pkg/apis/networking/validation, pkg/registry/networking/ipaddress). */
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goQuote } from '../../../machinery/values/go-syntax.ts'
import { parseIpAddress, formatIpAddress } from '../../../machinery/validation/ip-address.ts'
import { subdomain, pathSegment } from '../../../machinery/validation/names.ts'
import { createValidation, updateValidation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import { validateImmutable } from '../rules/field-rules.ts'
import { validateRequiredSegment } from '../rules/object-references.ts'

interface ParentReference {
  readonly group?: string
  readonly resource?: string
  readonly namespace?: string
  readonly name?: string
}

function parentOf(object: KubeObject): ParentReference | undefined {
  return (object['spec'] as { parentRef?: ParentReference } | undefined)?.parentRef ?? undefined
}

/** Addresses of Services that older versions of Skiff stored name the core group as an empty string. */
function withoutEmptyGroup(parent: ParentReference | undefined): ParentReference | undefined {
  if (parent?.group !== '') return parent
  const { group: _, ...rest } = parent
  return rest
}

function validateAddress(object: KubeObject, root: FieldPath): void {
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
}

export const ipAddressStrategy: Strategy = {
  nameForm: 'path',
  validate: createValidation(validateAddress),
  validateUpdate: updateValidation(({ object, old }: Change<KubeObject>, root) => {
    const at = root.child('spec').child('parentRef')
    const before = withoutEmptyGroup(parentOf(old))
    validateImmutable({ now: parentOf(object), before }, at)
  }),
}
