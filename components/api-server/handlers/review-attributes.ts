/** What an access review asks about: its faults, and the authorization attributes it stands for. */
import type {
  FieldSelectorAttributes,
  LabelSelectorAttributes,
  NonResourceAttributes,
  ResourceAttributes,
} from '../../api/generated/types.ts'
import { parseFieldSelector } from '../../machinery/field-selector.ts'
import { forbiddenValue, invalidValue, requiredValue } from '../../machinery/field-errors.ts'
import { parseLabelSelector } from '../../machinery/label-selector.ts'
import type { LabelOperator } from '../../machinery/label-selector.ts'
import type { FieldError } from '../../machinery/status-error.ts'
import type { AuthorizationAttributes, SelectorRequirement, UserInfo } from '../request.ts'

/** The part that all access reviews share. */
export interface ReviewedAccess {
  readonly resourceAttributes?: ResourceAttributes
  readonly nonResourceAttributes?: NonResourceAttributes
}

type SelectorAttributes = FieldSelectorAttributes | LabelSelectorAttributes

const valueOperators = new Set(['In', 'NotIn'])
const bareOperators = new Set(['Exists', 'DoesNotExist'])

function selectorFaults(selector: SelectorAttributes | undefined, path: string): FieldError[] {
  if (selector === undefined || selector === null) return []
  const { rawSelector = '', requirements = [] } = selector
  if (rawSelector !== '' && requirements.length > 0) {
    const detail = 'may not specified at the same time as requirements'
    return [invalidValue(`${path}.rawSelector`, { value: rawSelector, detail })]
  }
  if (rawSelector === '' && requirements.length === 0) {
    const name = path.slice(path.lastIndexOf('.') + 1)
    const detail = `when ${name} is specified, requirements or rawSelector is required`
    return [requiredValue(`${path}.requirements`, detail)]
  }
  return requirements.flatMap(({ key, operator, values }, index) => {
    const at = `${path}.requirements[${index}]`
    const count = values?.length ?? 0
    return [
      ...(key ? [] : [requiredValue(`${at}.key`, 'must be specified')]),
      ...(valueOperators.has(operator) && count === 0
        ? [requiredValue(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'")]
        : []),
      ...(bareOperators.has(operator) && count > 0
        ? [
            forbiddenValue(
              `${at}.values`,
              "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            ),
          ]
        : []),
      ...(operator ? [] : [requiredValue(`${at}.operator`, 'must be specified')]),
    ]
  })
}

/** Exactly one of the two attribute blocks, and whole selectors. */
export function reviewFaults(spec: ReviewedAccess): FieldError[] {
  const { resourceAttributes: resource, nonResourceAttributes: other } = spec
  if (resource && other) {
    const detail = 'cannot be specified in combination with resourceAttributes'
    return [invalidValue('spec.nonResourceAttributes', { value: null, detail })]
  }
  if (!resource && !other) {
    const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
    return [invalidValue('spec.resourceAttributes', { value: null, detail })]
  }
  return [
    ...selectorFaults(resource?.fieldSelector, 'spec.resourceAttributes.fieldSelector'),
    ...selectorFaults(resource?.labelSelector, 'spec.resourceAttributes.labelSelector'),
  ]
}

const labelOperators: Readonly<Record<LabelOperator, string>> = {
  '=': 'In',
  '==': 'In',
  in: 'In',
  '!=': 'NotIn',
  notin: 'NotIn',
  exists: 'Exists',
  '!': 'DoesNotExist',
  gt: 'Gt',
  lt: 'Lt',
}

function fromRaw(text: string, kind: 'field' | 'label'): SelectorRequirement[] {
  return kind === 'field'
    ? parseFieldSelector(text).map(({ field, operator, value }) => ({
        key: field,
        operator,
        values: [value],
      }))
    : parseLabelSelector(text).map(({ key, operator, values }) => ({
        key,
        operator: labelOperators[operator],
        values,
      }))
}

/** A selector that cannot be parsed is left out, which can only widen what is asked; the errors say so. */
function requirementsOf(
  selector: SelectorAttributes | undefined,
  kind: 'field' | 'label',
  errors: string[],
): SelectorRequirement[] | undefined {
  if (!selector) return undefined
  if (!selector.rawSelector) {
    return (selector.requirements ?? []).map(({ key, operator, values }) => ({
      key,
      operator,
      values: values ?? [],
    }))
  }
  try {
    return fromRaw(selector.rawSelector, kind)
  } catch (error) {
    errors.push((error as Error).message)
    return undefined
  }
}

/** What to ask the authorizers; `errors` are shown as the review's evaluation error. */
export function attributesOfReview(
  spec: ReviewedAccess,
  user: UserInfo,
): { attributes: AuthorizationAttributes; errors: string[] } {
  const { resourceAttributes: resource, nonResourceAttributes: other } = spec
  const errors: string[] = []
  const fieldSelector = requirementsOf(resource?.fieldSelector, 'field', errors)
  const labelSelector = requirementsOf(resource?.labelSelector, 'label', errors)
  const attributes: AuthorizationAttributes = {
    user,
    verb: resource?.verb ?? other?.verb ?? '',
    isResourceRequest: resource !== undefined && resource !== null,
    group: resource?.group ?? '',
    version: resource?.version ?? '',
    resource: resource?.resource ?? '',
    subresource: resource?.subresource ?? '',
    namespace: resource?.namespace ?? '',
    name: resource?.name ?? '',
    path: other?.path ?? '',
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
  }
  return { attributes, errors }
}
