/** LimitRange (upstream: core/validation ValidateLimitRange, pkg/apis/core/v1 SetDefaults_LimitRangeItem). */
import type { LimitRange, LimitRangeItem } from '../../../api/generated/types.ts'
import type { FieldPath } from '../../../machinery/validation/field-path.ts'
import { getOwn, setOwn } from '../../../machinery/values/json-copy.ts'
import { validateLabelName } from '../../../machinery/validation/label-validation.ts'
import { parseQuantity } from '../../../machinery/values/quantity.ts'
import type { Strategy, StrategyContext } from '../strategy.ts'
import { compareAmounts, roundUpAmounts, shownQuantity } from '../rules/quantities.ts'
import {
  isOvercommitAllowed,
  validateContainerResourceName,
  validateResourceName,
} from '../rules/resource-list.ts'
import { validation } from '../rules/strategy-checks.ts'

type Amounts = Record<string, string>

function fillMissing(target: Amounts, source: Amounts | undefined): void {
  for (const name in source) {
    if (!Object.hasOwn(target, name)) setOwn(target, name, source[name])
  }
}

const lists = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const

function defaultItem(item: LimitRangeItem): void {
  for (const list of lists) roundUpAmounts(item[list])
  if (item.type !== 'Container') return
  const [limits, requests] = [(item.default ??= {}), (item.defaultRequest ??= {})]
  fillMissing(limits, item.max)
  fillMissing(requests, limits)
  fillMissing(requests, item.min)
  if (Object.keys(limits).length === 0) delete item.default
  if (Object.keys(requests).length === 0) delete item.defaultRequest
}

const types = ['Pod', 'Container', 'PersistentVolumeClaim']

function validateItem(
  item: LimitRangeItem,
  at: FieldPath,
  { seen, dialect }: { readonly seen: Set<string>; readonly dialect: StrategyContext['dialect'] },
): void {
  const { type = '' } = item
  const typeAt = at.child('type')
  validateLabelName(type, typeAt)
  if (!type.includes('/') && !types.includes(type)) {
    typeAt.invalid(type, 'must be a standard limit type or fully qualified')
  }
  if (seen.has(type)) typeAt.duplicate(type)
  seen.add(type)

  const names = new Set<string>()
  const checkNames = (field: (typeof lists)[number]) => {
    for (const name in item[field]) {
      const nameAt = at.child(field).key(name)
      if (type === 'Pod' || type === 'Container') {
        validateContainerResourceName(name, nameAt, dialect)
      } else validateResourceName(name, nameAt)
      names.add(name)
    }
  }
  checkNames('max')
  checkNames('min')
  if (type === 'Pod') {
    const forbidden = "may not be specified when `type` is 'Pod'"
    for (const field of ['default', 'defaultRequest'] as const) {
      if (Object.keys(item[field] ?? {}).length > 0) at.child(field).forbidden(forbidden)
    }
  } else {
    checkNames('default')
    checkNames('defaultRequest')
  }
  if (type === 'PersistentVolumeClaim' && !item.min?.['storage'] && !item.max?.['storage']) {
    at.child('limits').required(
      'either minimum or maximum storage value is required, but neither was provided',
    )
  }
  checkNames('maxLimitRequestRatio')
  for (const name of names) validateOrder(item, name, at)
  for (const name of names) {
    if (isOvercommitAllowed(name, dialect)) continue
    const [limit, request] = [getOwn(item.default, name), getOwn(item.defaultRequest, name)]
    if (limit === undefined || request === undefined || compareAmounts(limit, request) === 0)
      continue
    const detail = `default value ${shownQuantity(limit)} must equal to defaultRequest value ${shownQuantity(request)} in ${name}`
    at.child('defaultRequest').key(name).invalid(shownQuantity(request), detail)
  }
}

/** Pairs of which the first may not exceed the second, where the fault is reported, and which value is shown. */
const orders = [
  { low: 'min', high: 'max', at: 'min', shows: 'low', words: ['min', 'max'] },
  {
    low: 'min',
    high: 'defaultRequest',
    at: 'defaultRequest',
    shows: 'high',
    words: ['min', 'default request'],
  },
  {
    low: 'defaultRequest',
    high: 'max',
    at: 'defaultRequest',
    shows: 'low',
    words: ['default request', 'max'],
  },
  {
    low: 'defaultRequest',
    high: 'default',
    at: 'defaultRequest',
    shows: 'low',
    words: ['default request', 'default limit'],
  },
  { low: 'min', high: 'default', at: 'default', shows: 'low', words: ['min', 'default'] },
  { low: 'default', high: 'max', at: 'default', shows: 'high', words: ['default', 'max'] },
] as const

function validateOrder(item: LimitRangeItem, name: string, at: FieldPath): void {
  for (const { low, high, at: field, shows, words } of orders) {
    const [lower, upper] = [getOwn(item[low], name), getOwn(item[high], name)]
    if (lower === undefined || upper === undefined || compareAmounts(lower, upper) <= 0) continue
    const [shownLower, shownUpper] = [shownQuantity(lower), shownQuantity(upper)]
    at.child(field)
      .key(name)
      .invalid(
        shows === 'low' ? shownLower : shownUpper,
        `${words[0]} value ${shownLower} is greater than ${words[1]} value ${shownUpper}`,
      )
  }
  const ratio = getOwn(item.maxLimitRequestRatio, name)
  if (ratio === undefined) return
  const ratioAt = at.child('maxLimitRequestRatio').key(name)
  const shown = shownQuantity(ratio)
  if (compareAmounts(ratio, '1') < 0) ratioAt.invalid(shown, `ratio ${shown} is less than 1`)
  const [min, max] = [getOwn(item.min, name), getOwn(item.max, name)]
  if (min === undefined || max === undefined) return
  const limit = Number(parseQuantity(max).nanos) / Number(parseQuantity(min).nanos)
  if (Number(parseQuantity(ratio).nanos) / 1e9 <= limit) return
  ratioAt.invalid(shown, `ratio ${shown} is greater than max/min = ${limit.toFixed(6)}`)
}

function validateRange({ spec }: LimitRange, root: FieldPath, { dialect }: StrategyContext): void {
  const seen = new Set<string>()
  for (const [i, item] of (spec?.limits ?? []).entries()) {
    validateItem(item, root.child('spec').child('limits').index(i), { seen, dialect })
  }
}

export const limitRangeStrategy: Strategy = {
  applyDefaults(object) {
    for (const item of (object as LimitRange).spec?.limits ?? []) defaultItem(item)
  },
  ...validation<LimitRange>(validateRange),
}
