/**
 * AccessChecks: the checks that the expressions over one request make with `authorizer`, each made once. An expression waits for
 * the answer of an authorizer that is asynchronous (a webhook).
 */
import type { Authorizer, Decision } from '../../authz/authorizer.ts'
import type { AccessAnswer, AccessCheck } from '../../../cel/cel-authorizer.ts'
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
  readonly #answers = new Map<string, AccessAnswer | Promise<AccessAnswer>>()

  constructor(authorizer: Authorizer, subject: Subject) {
    this.#authorizer = authorizer
    this.#subject = subject
  }

  /** The variables, for expressions. Loads the evaluator. */
  async values(): Promise<Values> {
    const { authorizerValues } = await import('../../../cel/cel.ts')
    const { user: _, ...requestResource } = this.#subject
    return authorizerValues(requestResource)
  }

  /** Answers at once where the authorizer does. A failed authorizer is the answer's error. */
  readonly answer = (check: AccessCheck): AccessAnswer | Promise<AccessAnswer> => {
    const key = JSON.stringify(check)
    const known = this.#answers.get(key)
    if (known !== undefined) return known
    const answer = this.#ask(check)
    this.#answers.set(key, answer)
    return answer
  }

  #ask(check: AccessCheck): AccessAnswer | Promise<AccessAnswer> {
    try {
      const decision = this.#authorizer.authorize(attributesOf(check, this.#subject.user))
      return decision instanceof Promise ? decision.then(answerOf, failed) : answerOf(decision)
    } catch (error) {
      return failed(error)
    }
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
