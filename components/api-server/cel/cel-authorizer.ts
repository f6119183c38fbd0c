/**
 * The variable `authorizer` of admission expressions: what else may the user do? (upstream: apiserver/pkg/cel/library/authz.go).
 * A check is a description until it is asked; who answers is known while an expression runs.
 */
import type { CelMap } from '@bufbuild/cel'
import { objectName } from '../../machinery/validation/names.ts'
import { box, createLibrary, unbox, type Library } from './cel-library.ts'
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

/** Answers at once, or throws where the answer has to be waited for. */
export type AnswerAccess = (check: AccessCheck) => AccessAnswer

/** One check costs a third of what an expression may (upstream: cost.go). */
const mostChecks = 2

let answering: { readonly answer: AnswerAccess; asked: number } | undefined

/** Runs an expression whose checks are answered by `answer`. */
export function withAccess<T>(answer: AnswerAccess | undefined, run: () => T): T {
  const before = answering
  answering = answer && { answer, asked: 0 }
  try {
    return run()
  } finally {
    answering = before
  }
}

export const authorizerType = opaque('kubernetes.authorization.Authorizer')
export const resourceCheckType = opaque('kubernetes.authorization.ResourceCheck')
const pathCheck = opaque('kubernetes.authorization.PathCheck')
const groupCheck = opaque('kubernetes.authorization.GroupCheck')
const decision = opaque('kubernetes.authorization.Decision')

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

method('check', [resourceCheckType, [string], decision], (from: CelMap, verb: string) => {
  const check = read(isBoxOf(pathCheck, from) ? pathCheck : resourceCheckType, from)
  if (answering === undefined) throw new Error('no authorizer')
  if (++answering.asked > mostChecks) {
    throw new Error('operation cancelled: actual cost limit exceeded')
  }
  return written(decision, answering.answer({ ...check, verb }))
})
// At run time both are boxes: the function above tells them apart.
overload({ name: 'check', target: pathCheck, arguments: [string], result: decision })

const answered = (value: CelMap): AccessAnswer => JSON.parse(unbox(decision, value)) as AccessAnswer
method('allowed', [decision, [], bool], (value: CelMap) => answered(value).isAllowed)
method('reason', [decision, [], string], (value: CelMap) => answered(value).reason)
method('errored', [decision, [], bool], (value: CelMap) => answered(value).error !== '')
method('error', [decision, [], string], (value: CelMap) => answered(value).error)

/** These functions. */
export const authorizerLibrary: Library = library
