/** Names and amounts of compute resources (upstream: pkg/apis/core/helper and core/validation). */
import type { Dialect } from '../../../api/dialect.ts'
import type { ResourceRequirements } from '../../../api/generated/types.ts'
import { isExtendedResource, isNativeResource } from '../../../api/resource-names.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { qualifiedName } from '../../../machinery/validation/names.ts'
import { getOwn } from '../../../machinery/values/json-copy.ts'
import { GoText } from '../../../machinery/values/go-syntax.ts'
import { mustNotBeNegative } from './field-rules.ts'
import { compareAmounts, isNegativeQuantity, isWholeQuantity, shownQuantity } from './quantities.ts'

const containerResources = new Set(['cpu', 'memory', 'ephemeral-storage'])

const countedResources = new Set([
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'configmaps',
  'persistentvolumeclaims',
  'services.nodeports',
  'services.loadbalancers',
])
const quotaOnlyResources = [
  'requests.cpu',
  'requests.memory',
  'requests.storage',
  'requests.ephemeral-storage',
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  ...countedResources,
]
const quotaResources = new Set(['cpu', 'memory', 'ephemeral-storage', ...quotaOnlyResources])
const standardResources = new Set([...quotaResources, 'storage'])

const hugePagesPrefix = 'hugepages-'
const requestsHugePagesPrefix = 'requests.hugepages-'

export function isHugePages(name: string): boolean {
  return name.startsWith(hugePagesPrefix)
}

/** Whether a request may be below its limit: not for huge pages and extended resources. */
export function isOvercommitAllowed(name: string, dialect: Dialect): boolean {
  return isNativeResource(name, dialect) && !isHugePages(name)
}

function isStandardResource(name: string): boolean {
  return (
    standardResources.has(name) || isHugePages(name) || name.startsWith(requestsHugePagesPrefix)
  )
}

export function isStandardQuotaResource(name: string): boolean {
  return quotaResources.has(name) || isHugePages(name) || name.startsWith(requestsHugePagesPrefix)
}

/** Go prints names of resources without quotes: their type has a String method. */
const shownName = (name: string): GoText => new GoText(name)

/** Any resource's name. False when it has a fault. */
export function validateResourceName(name: string, at: FieldPath): boolean {
  const messages = qualifiedName(name)
  at.invalidEach(shownName(name), messages)
  if (messages.length > 0) return false
  if (name.includes('/') || isStandardResource(name)) return true
  at.invalid(shownName(name), 'must be a standard resource type or fully qualified')
  return false
}

export function validateContainerResourceName(name: string, at: FieldPath, dialect: Dialect): void {
  if (containerResources.has(name)) return
  validateResourceName(name, at)
  if (!name.includes('/')) {
    if (!isHugePages(name))
      at.invalid(shownName(name), 'must be a standard resource for containers')
  } else if (!isNativeResource(name, dialect) && !isExtendedResource(name, dialect)) {
    at.invalid(shownName(name), "doesn't follow extended resource name standard")
  }
}

export function validateQuotaResourceName(name: string, at: FieldPath): void {
  validateResourceName(name, at)
  if (!name.includes('/') && !isStandardQuotaResource(name)) {
    at.invalid(shownName(name), 'must be a standard resource for quota')
  }
}

/** An amount of a resource: not negative, and whole where the resource is counted. */
export function validateResourceAmount(
  { name, amount, dialect }: { name: string; amount: string; dialect: Dialect },
  at: FieldPath,
): void {
  if (isNegativeQuantity(amount)) at.invalid(shownQuantity(amount), mustNotBeNegative)
  const isCounted = countedResources.has(name) || isExtendedResource(name, dialect)
  if (isCounted && !isWholeQuantity(amount)) {
    at.invalid(shownQuantity(amount), 'must be an integer')
  }
}

/** `resources` of a container, or anything of the same shape. */
export function validateResourceRequirements(
  { limits, requests }: ResourceRequirements,
  at: FieldPath,
  dialect: Dialect,
): void {
  if (limits === undefined && requests === undefined) return
  const seen = { cpuOrMemory: false, hugePages: false }
  const checkOne = (name: string, amount: string, itemAt: FieldPath) => {
    validateContainerResourceName(name, itemAt, dialect)
    validateResourceAmount({ name, amount, dialect }, itemAt)
    if (isHugePages(name)) {
      seen.hugePages = true
      validateHugePageAmount(name, amount, itemAt)
    }
    if (name === 'cpu' || name === 'memory') seen.cpuOrMemory = true
  }
  const limitsAt = at.child('limits')
  const requestsAt = at.child('requests')
  for (const name in limits) checkOne(name, limits[name] ?? '', limitsAt.key(name))
  for (const name in requests) {
    const amount = requests[name] ?? ''
    checkOne(name, amount, requestsAt.key(name))
    const limit = getOwn(limits, name)
    const mayOvercommit = isOvercommitAllowed(name, dialect)
    if (limit === undefined) {
      if (!mayOvercommit) limitsAt.required('Limit must be set for non overcommitable resources')
      continue
    }
    const order = compareAmounts(amount, limit)
    if (order !== 0 && !mayOvercommit) {
      const detail = `must be equal to ${name} limit of ${shownQuantity(limit)}`
      requestsAt.invalid(shownQuantity(amount), detail)
    } else if (order > 0) {
      const detail = `must be less than or equal to ${name} limit of ${shownQuantity(limit)}`
      requestsAt.invalid(shownQuantity(amount), detail)
    }
  }
  if (seen.hugePages && !seen.cpuOrMemory) at.forbidden('HugePages require cpu or memory')
}

function validateHugePageAmount(name: string, amount: string, at: FieldPath): void {
  const pageSize = bytesOf(name.slice(hugePagesPrefix.length))
  const size = bytesOf(amount)
  if (pageSize === undefined || size === undefined || pageSize === 0) return
  if (size % pageSize === 0) return
  const shown = shownQuantity(amount)
  at.invalid(shown, `${shown} is not positive integer multiple of ${name}`)
}

const unitBytes: Readonly<Record<string, number>> = {
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
}

/** The plain amounts that page sizes come in; undefined for other spellings. */
function bytesOf(text: string): number | undefined {
  const [, digits = '', unit = ''] = /^([0-9]+)([kMGT]|[KMGT]i)?$/.exec(text) ?? []
  const bytes = unitBytes[unit]
  return digits === '' || bytes === undefined ? undefined : Number(digits) * bytes
}
