/**
 * The variable `authorizer` of admission expressions: what else may the user do? (upstream: apiserver/pkg/cel/library/authz.go).
 * A check is a description. `check` makes it a question, which the evaluation asks (cel-steps.ts) and replaces with the decision.
 */
import { celError, isCelMap, type CelError, type CelMap } from '@bufbuild/cel'
import { objectName } from '../machinery/validation/names.ts'
import { box, createLibrary, unbox, type Library } from './cel-library.ts'
import { limitExceeded } from './cel-meter.ts'
import { bool, opaque, string } from './cel-types.ts'

/** One check. Without a service account it is for the user of the request. */
export interface AccessCheck {
  readonly serviceAccount?: { readonly namespace: string; readonly name: string }
  readonly path?: string
  readonly group?: string
  readonly resource?: string
  readonly subresource?: string
  readonly namespace?: string
  readonly name?: string
  readonly fieldSelector?: string
  readonly labelSelector?: string
  readonly verb?: string
}

export interface AccessAnswer {
  readonly isAllowed: boolean
  readonly reason: string
  /** '' without one. */
  readonly error: string
}

/** Answers a check: at once, or with a promise that never rejects. */
export type AnswerAccess = (check: AccessCheck) => AccessAnswer | Promise<AccessAnswer>

/** One check costs a third of what an expression may (upstream: cost.go). */
const mostChecks = 2

/** The name of the function that asks. */
export const askingFunction = 'check'

export const authorizerType = opaque('kubernetes.authorization.Authorizer')
export const resourceCheckType = opaque('kubernetes.authorization.ResourceCheck')
const pathCheck = opaque('kubernetes.authorization.PathCheck')
const groupCheck = opaque('kubernetes.authorization.GroupCheck')
const decision = opaque('kubernetes.authorization.Decision')
/** A complete check: `check` returns it until the evaluation has asked the authorizer. */
const question = opaque('kubernetes.authorization.Question')

/** `authorizer` itself, or a check that is begun. */
export function accessValue(
  type: typeof authorizerType,
  check: AccessCheck,
): ReadonlyMap<string, string> {
  return new Map(Object.entries(box(type, JSON.stringify(check))))
}

const { method, overload, library } = createLibrary()

const read = (type: typeof authorizerType, value: CelMap): AccessCheck =>
  JSON.parse(unbox(type, value)) as AccessCheck
const written = (type: typeof authorizerType, check: object): Record<string, string> =>
  box(type, JSON.stringify(check))

function notBlank(what: string, text: string): string {
  if (text.trim() === '') throw new Error(`${what} must not be empty`)
  return text
}

method('path', [authorizerType, [string], pathCheck], (from: CelMap, path: string) =>
  written(pathCheck, { ...read(authorizerType, from), path: notBlank('path', path) }),
)
method('group', [authorizerType, [string], groupCheck], (from: CelMap, group: string) =>
  written(groupCheck, { ...read(authorizerType, from), group }),
)
method(
  'serviceAccount',
  [authorizerType, [string, string], authorizerType],
  (_from: CelMap, namespace: string, name: string) => {
    if (objectName(name, 'subdomain').length > 0) throw new Error('Invalid service account name')
    if (objectName(namespace, 'label').length > 0) {
      throw new Error('Invalid service account namespace')
    }
    return written(authorizerType, { serviceAccount: { namespace, name } })
  },
)
method('resource', [groupCheck, [string], resourceCheckType], (from: CelMap, resource: string) =>
  written(resourceCheckType, {
    ...read(groupCheck, from),
    resource: notBlank('resource', resource),
  }),
)
for (const part of [
  'subresource',
  'namespace',
  'name',
  'fieldSelector',
  'labelSelector',
] as const) {
  method(part, [resourceCheckType, [string], resourceCheckType], (from: CelMap, text: string) =>
    written(resourceCheckType, { ...read(resourceCheckType, from), [part]: text }),
  )
}

function isBoxOf(type: typeof authorizerType, value: CelMap): boolean {
  return value.has(`@${'name' in type ? type.name : ''}`)
}

method(askingFunction, [resourceCheckType, [string], decision], (from: CelMap, verb: string) => {
  const check = read(isBoxOf(pathCheck, from) ? pathCheck : resourceCheckType, from)
  return written(question, { ...check, verb })
})
// At run time both are boxes: the function above tells them apart.
overload({ name: askingFunction, target: pathCheck, arguments: [string], result: decision })

const answered = (value: CelMap): AccessAnswer => JSON.parse(unbox(decision, value)) as AccessAnswer
method('allowed', [decision, [], bool], (value: CelMap) => answered(value).isAllowed)
method('reason', [decision, [], string], (value: CelMap) => answered(value).reason)
method('errored', [decision, [], bool], (value: CelMap) => answered(value).error !== '')
method('error', [decision, [], string], (value: CelMap) => answered(value).error)

/** Asks one evaluation's questions. */
export type Ask = (
  value: unknown,
) => Record<string, string> | CelError | Promise<Record<string, string>>

/** For one evaluation; without `answer` each question is an error. Throws when there are more than an evaluation may ask. */
export function askingOf(answer: AnswerAccess | undefined): Ask {
  let asked = 0
  return (value) => {
    if (!isCelMap(value)) return celError('no such overload')
    if (answer === undefined) return celError('no authorizer')
    if (++asked > mostChecks) throw new Error(limitExceeded)
    const given = answer(read(question, value))
    if (!(given instanceof Promise)) return written(decision, given)
    return given.then((later) => written(decision, later))
  }
}

/** These functions. */
export const authorizerLibrary: Library = library
