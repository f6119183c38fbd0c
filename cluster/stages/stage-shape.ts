/** The shape of Stage files, kwok.x-k8s.io/v1alpha1: the deprecated fields, and those that take their place. */
import {
  anything,
  boolean,
  choice,
  list,
  mapping,
  object,
  optional,
  plain,
  record,
} from '../shape.ts'
import type { Shape, ShapeType } from '../shape.ts'

/** A template may look like a variable of scenarios. */
const text = plain('a string', (value) => (typeof value === 'string' ? value : undefined))
const word = plain('a string that is not empty', (value) =>
  typeof value === 'string' && value !== '' ? value : undefined,
)
const whole = plain('a whole number, 0 or more', (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined,
)

const operator = choice('In', 'NotIn', 'Exists', 'DoesNotExist')
const expression = object({ expression: word })
const expressionFrom = object({
  cel: optional(expression),
  jq: optional(expression),
  expressionFrom: optional(word),
})
const user = object({ username: word })

const event = object({
  type: optional(choice('Normal', 'Warning')),
  reason: optional(text),
  message: optional(text),
})
const finalizer = object({ value: word })
const finalizers = object({
  add: optional(list(finalizer)),
  remove: optional(list(finalizer)),
  empty: optional(boolean),
})
const patch = object({
  subresource: optional(word),
  root: optional(word),
  template: text,
  type: optional(choice('json', 'merge', 'strategic')),
  impersonation: optional(user),
})
const apply = object({
  subresource: optional(word),
  template: text,
  type: optional(choice('apply', 'merge', 'strategic')),
  impersonation: optional(user),
})

const stepShape = object({
  event: optional(event),
  finalizers: optional(finalizers),
  delete: optional(boolean),
  patch: optional(patch),
  apply: optional(apply),
})

const nextShape = object({
  event: optional(event),
  finalizers: optional(finalizers),
  delete: optional(boolean),
  patches: optional(list(patch)),
  statusTemplate: optional(text),
  statusSubresource: optional(word),
  statusPatchAs: optional(user),
})

const requirement = object({
  cel: optional(expression),
  jq: optional(object({ key: word, operator, values: optional(list(text)) })),
  key: optional(word),
  operator: optional(operator),
  values: optional(list(text)),
})

const named: Shape<Record<string, unknown>> = {
  ...mapping,
  check: (value, path, issues) => {
    const given = mapping.check(value, path, issues)
    word.check(given['name'], [...path, 'name'], issues)
    return given
  },
}

export const stageShape = object({
  apiVersion: text,
  kind: text,
  metadata: named,
  status: optional(anything),
  spec: object({
    resourceRef: object({ apiGroup: optional(word), kind: word }),
    selector: object({
      matchLabels: optional(record(text)),
      matchAnnotations: optional(record(text)),
      matchExpressions: optional(list(requirement)),
    }),
    weight: optional(whole),
    weightFrom: optional(expressionFrom),
    delay: optional(
      object({
        durationMilliseconds: optional(whole),
        durationFrom: optional(expressionFrom),
        jitterDurationMilliseconds: optional(whole),
        jitterDurationFrom: optional(expressionFrom),
      }),
    ),
    next: optional(nextShape),
    steps: optional(list(stepShape)),
    immediateNextStage: optional(boolean),
  }),
})

export type StageDocument = ShapeType<typeof stageShape>
export type StageSpec = StageDocument['spec']
export type GivenStep = ShapeType<typeof stepShape>
export type GivenNext = ShapeType<typeof nextShape>
export type GivenRequirement = ShapeType<typeof requirement>
export type GivenExpression = ShapeType<typeof expressionFrom>
