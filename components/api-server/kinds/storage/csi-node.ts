/** CSINode (upstream: pkg/apis/storage/validation, pkg/registry/storage/csinode). */
import type { CSINodeDriver, CSINode } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { subdomain, qualifiedName } from '../../../machinery/validation/names.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import { validation, type Change } from '../rules/strategy-checks.ts'
import type { Strategy } from '../strategy.ts'
import { validateNonNegative, goJson, validateImmutable } from '../rules/field-rules.ts'

const maxDriverNameBytes = 63

const maxNodeIdBytes = 256

/** The name of a driver where other objects mention it: short, and a subdomain but for its case. */
export function validateDriverName(name: string | undefined, at: FieldPath): void {
  if (!name) at.required()
  if (Buffer.byteLength(name ?? '') > maxDriverNameBytes) at.tooLong(maxDriverNameBytes)
  at.invalidEach(name ?? '', subdomain((name ?? '').toLowerCase()))
}

function validateNodeDriver(driver: CSINodeDriver, at: FieldPath): void {
  const { name, nodeID, allocatable, topologyKeys } = driver
  validateDriverName(name, at.child('name'))
  const nodeIdAt = at.child('nodeID')
  if (!nodeID) nodeIdAt.required()
  else if (Buffer.byteLength(nodeID) > maxNodeIdBytes) {
    nodeIdAt.invalid(nodeID, `must be ${maxNodeIdBytes} characters or less`)
  }
  validateNonNegative(allocatable?.count, at.child('allocatable').child('count'))
  const keys = topologyKeys ?? []
  for (const [i, key] of keys.entries()) {
    if (key === '') at.required()
    if (keys.indexOf(key) < i) at.duplicate(key)
    at.invalidEach(key, qualifiedName(key))
  }
}

function validateNode(object: KubeObject, root: FieldPath): void {
  const at = root.child('spec').child('drivers')
  const drivers = (object as CSINode).spec?.drivers ?? []
  for (const [i, driver] of drivers.entries()) {
    validateNodeDriver(driver, at.index(i))
    const isRepeated = drivers.findIndex(({ name }) => name === driver.name) < i
    if (isRepeated) at.index(i).child('name').duplicate(driver.name)
  }
}

export const csiNodeStrategy: Strategy = {
  allowUnconditionalUpdate: false,
  ...validation(validateNode, ({ object, old }: Change<KubeObject>, root) => {
    const at = root.child('spec').child('drivers')
    const drivers = (object as CSINode).spec?.drivers ?? []
    for (const before of (old as CSINode).spec?.drivers ?? []) {
      const now = drivers.find(({ name }) => name === before.name)
      if (now !== undefined) validateImmutable({ now, before, shown: goJson(now) }, at)
    }
  }),
}
