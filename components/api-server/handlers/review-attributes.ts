/** review-attributes: the faults of an access review, and its authorization attributes. */
import type {
  FieldSelectorAttributes,
  LabelSelectorAttributes,
  NonResourceAttributes,
  ResourceAttributes,
} from '../../api/generated/types.ts'
import {
  fieldReviewRequirements,
  parseFieldSelector,
} from '../../machinery/selectors/field-selector.ts'
import {
  forbiddenValue,
  invalidValue,
  requiredValue,
} from '../../machinery/validation/field-errors.ts'
import {
  labelSelectorFrom,
  parseLabelSelector,
  reviewRequirements,
} from '../../machinery/selectors/label-selector.ts'
import { badRequest, isStatusError, type FieldError } from '../../machinery/objects/status-error.ts'
import type { AuthorizationAttributes, SelectorRequirement, UserInfo } from '../request/request.ts'

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

/** Checks that there is exactly one attribute block, and that its selectors are complete. */
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

type Kind = 'field' | 'label'

function parsedRequirements(text: string, kind: Kind): SelectorRequirement[] {
  return kind === 'field'
    ? fieldReviewRequirements(parseFieldSelector(text))
    : reviewRequirements(parseLabelSelector(text))
}

/** Throws a StatusError for an invalid requirement. */
function judgedRequirements(
  { key, operator, values }: { key: string; operator: string; values?: string[] | null },
  kind: Kind,
): SelectorRequirement[] {
  const given = values ?? []
  if (kind === 'field') {
    const isKnown = (operator === 'In' || operator === 'NotIn') && given.length === 1
    if (!isKnown) throw badRequest('a field is compared with one value, by In or NotIn')
    return [{ key, operator, values: given }]
  }
  return reviewRequirements(
    labelSelectorFrom({ matchExpressions: [{ key, operator, values: given }] }),
  )
}

/** Leaves out invalid requirements, which can only widen the question, and reports them in `errors`. */
function requirementsOf(
  selector: SelectorAttributes | undefined,
  kind: Kind,
  errors: string[],
): SelectorRequirement[] | undefined {
  if (!selector) return undefined
  const { rawSelector = '', requirements } = selector
  let isWhole = true
  const read = (from: () => SelectorRequirement[]): SelectorRequirement[] => {
    try {
      return from()
    } catch (error) {
      if (!isStatusError(error)) throw error
      isWhole = false
      return []
    }
  }
  const found =
    rawSelector === ''
      ? (requirements ?? []).flatMap((one) => read(() => judgedRequirements(one, kind)))
      : read(() => parsedRequirements(rawSelector, kind))
  if (!isWhole) {
    const how = found.length === 0 ? 'ignored' : 'partially ignored'
    errors.push(`spec.resourceAttributes.${kind}Selector ${how} due to parse error`)
  }
  return found.length === 0 ? undefined : found
}

/** The attributes for the authorizers. `errors` become the review's evaluation error. */
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
    version: resource ? resource.version || '*' : '',
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
