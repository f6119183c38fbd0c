/** Node (upstream: core/validation ValidateNode, ValidateNodeUpdate, pkg/registry/core/node). */
import type { Node, Taint } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { goList, goStruct, GoText } from '../../../machinery/values/go-syntax.ts'
import { isDualStack, validateIpRange } from '../../../machinery/validation/ip-address.ts'
import { validateLabelName } from '../../../machinery/validation/label-validation.ts'
import { labelValue } from '../../../machinery/validation/names.ts'
import type { KubeObject } from '../../../machinery/objects/object.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'
import { validateTaintEffect } from './pod/affinity-validation.ts'
import { roundUpAmounts } from '../rules/quantities.ts'
import { validateResourceAmount } from '../rules/resource-list.ts'
import { simulationWarnings } from '../rules/simulation-warnings.ts'
import { restoreAllButStatus } from '../rules/status-update.ts'
import { updateValidation, validation, type Change } from '../rules/strategy-checks.ts'

function validateNode(node: Node, root: FieldPath, context: StrategyContext): void {
  const at = root.child('spec')
  validateTaints(node.spec?.taints ?? [], at.child('taints'))
  validateAmounts(node, root, context)
  const ranges = node.spec?.podCIDRs ?? []
  const rangesAt = at.child('podCIDRs')
  for (const [i, range] of ranges.entries()) validateIpRange(range, rangesAt.index(i))
  if (ranges.length > 2 || (ranges.length === 2 && !isDualStack(ranges))) {
    rangesAt.invalid(goList(ranges), 'may specify no more than one CIDR for each IP family')
  }
}

function validateTaints(taints: readonly Taint[], at: FieldPath): void {
  const seen = new Set<string>()
  for (const [i, taint] of taints.entries()) {
    const { key = '', value = '', effect = '' } = taint
    const taintAt = at.index(i)
    validateLabelName(key, taintAt.child('key'))
    const faults = labelValue(value)
    if (faults.length > 0) taintAt.child('value').invalid(value, faults.join(';'))
    if (effect === '') taintAt.child('effect').required()
    else validateTaintEffect(effect, taintAt.child('effect'))
    const pair = `${effect} ${key}`
    if (seen.has(pair)) {
      taintAt.duplicate(goTaint(taint), 'taints must be unique by key and effect pair')
    }
    seen.add(pair)
  }
}

function goTaint({ key, value = '', effect }: Taint): GoText {
  const timeAdded = new GoText('<nil>')
  return goStruct('core.Taint', { Key: key, Value: value, Effect: effect, TimeAdded: timeAdded })
}

function validateAmounts({ status }: Node, root: FieldPath, { dialect }: StrategyContext): void {
  for (const field of ['capacity', 'allocatable'] as const) {
    const amounts = status?.[field]
    for (const name in amounts) {
      const at = root.child('status').child(field).key(name)
      validateResourceAmount({ name, amount: amounts[name] ?? '', dialect }, at)
    }
  }
}

const fixedRange = 'node updates may not change podCIDR except from "" to valid'

function validateChange(
  { object, old }: Change<Node>,
  root: FieldPath,
  context: StrategyContext,
): void {
  validateAmounts(object, root, context)
  const addresses = new Set<string>()
  for (const [i, { type, address }] of (object.status?.addresses ?? []).entries()) {
    const key = `${type} ${address}`
    if (addresses.has(key)) {
      const shown = goStruct('core.NodeAddress', { Type: type, Address: address })
      root.child('status').child('addresses').index(i).duplicate(shown)
    }
    addresses.add(key)
  }
  const at = root.child('spec')
  const [now, before] = [object.spec ?? {}, old.spec ?? {}]
  const [ranges, oldRanges] = [now.podCIDRs ?? [], before.podCIDRs ?? []]
  if (oldRanges.length > 0 && oldRanges.length !== ranges.length) {
    at.child('podCIDRs').forbidden(fixedRange)
  } else {
    for (const [i, range] of oldRanges.entries()) {
      if (range !== ranges[i]) at.child('podCIDRs').forbidden(fixedRange)
    }
  }
  if (before.providerID && before.providerID !== now.providerID) {
    const detail = 'node updates may not change providerID except from "" to valid'
    at.child('providerID').forbidden(detail)
  }
  // The path is upstream's.
  validateTaints(now.taints ?? [], root.child('metadata').child('taints'))
  if (now.externalID !== before.externalID) at.child('externalID').forbidden('may not be updated')
}

/** The way to configure node agents that no release supports any more. */
function dropConfigSource(object: KubeObject, old?: KubeObject): void {
  if ((old as Node | undefined)?.spec?.configSource === undefined) {
    delete (object as Node).spec?.configSource
  }
}

export const nodeStrategy: Strategy = {
  applyDefaults(object) {
    const { spec, status } = object as Node
    roundUpAmounts(status?.capacity)
    roundUpAmounts(status?.allocatable)
    if (status?.capacity && !status.allocatable) status.allocatable = { ...status.capacity }
    if (!spec) return
    if (spec.podCIDR && !spec.podCIDRs?.length) spec.podCIDRs = [spec.podCIDR]
    if (spec.podCIDRs?.[0]) spec.podCIDR = spec.podCIDRs[0]
  },
  prepareForCreate: (object) => dropConfigSource(object),
  prepareForUpdate: dropConfigSource,
  ...validation<Node>(validateNode, validateChange),
  warnings(object, old) {
    const { spec = {} } = object as Node
    const warnings = simulationWarnings('Node', object, old)
    if (spec.configSource) warnings.push('spec.configSource: the feature is no longer supported')
    if (spec.externalID) {
      warnings.push('spec.externalID: this field is deprecated, and is unused by Kubernetes')
    }
    return warnings
  },
  subresources: {
    status: {
      prepareForUpdate: restoreAllButStatus,
      validateUpdate: updateValidation<Node>(validateChange),
    },
  },
}
