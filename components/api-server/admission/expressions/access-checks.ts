/**
 * AccessChecks: the checks that the expressions over one request make with `authorizer`, each made once. Expressions are
 * synchronous: if an authorizer is not (a webhook), they are evaluated again with its answer.
 */
import type { Authorizer, Decision } from '../../authz/authorizer.ts'
import type { AccessAnswer, AccessCheck } from '../../cel/cel-authorizer.ts'
import type { AdmissionRequest } from '../admission.ts'
import { namespaceOf } from '../webhook/reviewed-request.ts'
import type { AuthorizationAttributes, UserInfo } from '../../request/request.ts'
import { selectorsOf } from '../../request/attributes.ts'
import type { Values } from '../../expressions/admission-variables.ts'

interface Subject {
  readonly user: UserInfo
  readonly group: string
  readonly resource: string
  readonly subresource: string
  readonly namespace: string
  readonly name: string
}

function serviceAccountUser(namespace: string, name: string): UserInfo {
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
  }
}

function attributesOf(check: AccessCheck, asking: UserInfo): AuthorizationAttributes {
  const { serviceAccount: account, path, verb = '' } = check
  const user = account ? serviceAccountUser(account.namespace, account.name) : asking
  const nothing = { group: '', version: '', resource: '', subresource: '', namespace: '', name: '' }
  if (path !== undefined) return { ...nothing, user, verb, path, isResourceRequest: false }
  const { group = '', resource = '', subresource = '', namespace = '', name = '' } = check
  const { fieldSelector = '', labelSelector = '' } = check
  return {
    user,
    verb,
    path: '',
    isResourceRequest: true,
    group,
    version: '*',
    resource,
    subresource,
    namespace,
    name,
    ...selectorsOf(fieldSelector, labelSelector),
  }
}

function answerOf({ decision, reason, evaluationError = '' }: Decision): AccessAnswer {
  return { isAllowed: decision === 'allow', reason, error: evaluationError }
}

const failed = (error: unknown): AccessAnswer => ({
  isAllowed: false,
  reason: '',
  error: error instanceof Error ? error.message : String(error),
})

export class AccessChecks {
  readonly #authorizer: Authorizer
  readonly #subject: Subject
  readonly #answers = new Map<string, AccessAnswer>()
  #waiting: Promise<void>[] = []

  constructor(authorizer: Authorizer, subject: Subject) {
    this.#authorizer = authorizer
    this.#subject = subject
  }

  /** The variables, for expressions. Loads the evaluator. */
  async values(): Promise<Values> {
    const { authorizerValues } = await import('../../cel/cel.ts')
    const { user: _, ...requestResource } = this.#subject
    return authorizerValues(requestResource)
  }

  /** Answers, or throws when the answer is pending. */
  readonly answer = (check: AccessCheck): AccessAnswer => {
    const key = JSON.stringify(check)
    const known = this.#answers.get(key)
    if (known !== undefined) return known
    let decision: ReturnType<Authorizer['authorize']>
    try {
      decision = this.#authorizer.authorize(attributesOf(check, this.#subject.user))
    } catch (error) {
      decision = Promise.reject(error)
    }
    if (decision instanceof Promise) {
      this.#waiting.push(
        decision.then(answerOf, failed).then((answer) => {
          this.#answers.set(key, answer)
        }),
      )
      throw new Error('the authorizer has not answered yet')
    }
    const answer = answerOf(decision)
    this.#answers.set(key, answer)
    return answer
  }

  /** The result or error of `run` when all its checks have been answered. It may run several times. */
  settled<T>(run: () => T): T | Promise<T> {
    try {
      const result = run()
      if (this.#waiting.length === 0) return result
    } catch (error) {
      if (this.#waiting.length === 0) throw error
    }
    const waiting = this.#waiting
    this.#waiting = []
    return Promise.all(waiting).then(() => this.settled(run))
  }
}

/** The checks of one request. */
export function accessChecksOf(request: AdmissionRequest, authorizer: Authorizer): AccessChecks {
  const { resource, subresource, user, name } = request
  const { group, plural } = resource
  const namespace = namespaceOf(request)
  return new AccessChecks(authorizer, {
    user,
    group,
    resource: plural,
    subresource,
    namespace,
    name,
  })
}
