/** The admission plugins in upstream's order, and which of them run (`--enable-admission-plugins`, `--disable-...`). */
import type { Dialect } from '../../api/dialect.ts'
import type { Resources } from '../../api/resources.ts'
import type { Clock } from '../../component-base/clock.ts'
import type { Log } from '../../component-base/log.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import type { Authorizer } from '../authz/authorizer.ts'
import type { CheckEscalation } from '../authz/escalation.ts'
import type { AdmissionWebhookMetrics } from './webhook/admission-webhook-metrics.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { AdmissionPlugin, AdmissionRequest } from './admission.ts'
import { certificateRequestAdmission } from './certificate-requests.ts'
import { defaultTolerationSeconds } from './default-toleration-seconds.ts'
import { limitRanger } from './limit-ranger.ts'
import { namespaceLifecycle } from './namespace-lifecycle.ts'
import { nodeRestriction } from './node-restriction.ts'
import { refusedBy } from '../request/refusal.ts'
import { podSecurity } from './pod-security/pod-security.ts'
import type { PodSecurityRules } from './pod-security/policy.ts'
import { validatingPolicies } from './policy/validating-policies.ts'
import { priorityAdmission } from './priority.ts'
import { rbacEscalation } from './rbac-escalation.ts'
import { serviceAccountAdmission } from './service-account.ts'
import { taintNodesByCondition } from './taint-nodes-by-condition.ts'
import { mutatingWebhooks } from './webhook/mutating-webhooks.ts'
import type { WebhookEgress } from '../egress/review-sender.ts'
import { validatingWebhooks } from './webhook/validating-webhooks.ts'

/** First all mutating plugins, later all validating ones. */
export interface AdmissionChain {
  /** Calls every mutating plugin. Throws a StatusError to reject. Synchronous unless a plugin is not. */
  mutate(request: AdmissionRequest): void | Promise<void>
  /** Calls every validating plugin with the final object. Throws a StatusError to reject. */
  validate(request: AdmissionRequest): void | Promise<void>
}

type Step = (request: AdmissionRequest) => void | Promise<void>

function inOrder(steps: readonly Step[]): Step {
  async function rest(request: AdmissionRequest, start: number): Promise<void> {
    for (const step of steps.slice(start)) await step(request)
  }
  return (request) => {
    for (const [index, step] of steps.entries()) {
      const pending = step(request)
      if (pending !== undefined) return pending.then(() => rest(request, index + 1))
    }
    return undefined
  }
}

/** Runs all plugins once more when a webhook changed the object after them (upstream: reinvocation). */
function twiceWhenAsked(all: Step): Step {
  return (request) =>
    all(request)?.then(() => {
      const { rounds } = request
      if (rounds?.isAnotherAsked !== true) return undefined
      rounds.round = 1
      return all(request)
    })
}

/** Adds the plugin's name to the errors of the step. */
function named(plugin: string, step: Step): Step {
  const refuse = (error: unknown): never => {
    throw refusedBy(error, { plugin })
  }
  return (request) => {
    try {
      return step(request)?.catch(refuse)
    } catch (error) {
      return refuse(error)
    }
  }
}

/** The plugins as one, in the order given. */
export function admissionChain(plugins: readonly AdmissionPlugin[]): AdmissionChain {
  const ofPhase = (phase: 'mutate' | 'validate'): Step[] =>
    plugins.flatMap((plugin) => {
      const step = plugin[phase]
      return step === undefined ? [] : [named(plugin.name, step.bind(plugin))]
    })
  return {
    mutate: twiceWhenAsked(inOrder(ofPhase('mutate'))),
    validate: inOrder(ofPhase('validate')),
  }
}

export interface AdmissionDependencies {
  readonly reader: ObjectReader
  readonly dialect: Dialect
  readonly clock: Clock
  readonly authorizer: Authorizer
  readonly checkEscalation: CheckEscalation
  readonly resources: Resources
  /** The versions that are served. */
  readonly served: readonly Resource[]
  /** The kinds that CustomResourceDefinitions add now. */
  readonly customKinds: () => readonly Resource[]
  /** How to dial webhooks: those of Services and those of URLs. */
  readonly egress: WebhookEgress
  readonly log: Log
  readonly webhookMetrics: AdmissionWebhookMetrics
  /** Default: namespaces without labels are privileged, and there are no exemptions. */
  readonly podSecurityRules?: PodSecurityRules | undefined
}

/** Off unless enabled; all others are on unless disabled, as upstream. */
const offByDefault: ReadonlySet<string> = new Set(['NodeRestriction'])

/** Every plugin, in the order in which they run. */
function allPlugins(dependencies: AdmissionDependencies): AdmissionPlugin[] {
  const { reader, dialect, clock, authorizer } = dependencies
  const certificates = certificateRequestAdmission(authorizer, dialect)
  const webhooks = { ...dependencies, metrics: dependencies.webhookMetrics }
  return [
    namespaceLifecycle(reader, dialect),
    limitRanger(reader, dialect),
    serviceAccountAdmission({ reader, dialect, clock }),
    nodeRestriction(reader, dialect),
    taintNodesByCondition(dialect),
    podSecurity(reader, dialect, dependencies.podSecurityRules),
    priorityAdmission(reader, dialect),
    defaultTolerationSeconds(dialect),
    certificates.approval,
    certificates.signing,
    certificates.subject,
    mutatingWebhooks(webhooks),
    validatingPolicies(dependencies),
    validatingWebhooks(webhooks),
  ]
}

/** The chosen plugins, in order, as a chain. */
export interface Admission extends AdmissionChain {
  /** Names of the plugins that run, in order. */
  readonly plugins: readonly string[]
}

function checkNames(names: readonly string[], known: readonly string[], flag: string): void {
  const unknown = names.filter((name) => !known.includes(name))
  if (unknown.length === 0) return
  throw new Error(
    `${flag}: plugin ${unknown.map((name) => `"${name}"`).join(', ')} is unknown; known are ${known.join(', ')}`,
  )
}

/** Throws an Error for a name that is unknown, or both enabled and disabled. */
export function createAdmission(
  flags: { readonly enable?: readonly string[]; readonly disable?: readonly string[] },
  dependencies: AdmissionDependencies,
): Admission {
  const { enable = [], disable = [] } = flags
  const all = allPlugins(dependencies)
  const known = all.map(({ name }) => name)
  checkNames(enable, known, '--enable-admission-plugins')
  checkNames(disable, known, '--disable-admission-plugins')
  const both = enable.find((name) => disable.includes(name))
  if (both !== undefined) {
    throw new Error(
      `"${both}" in enable-admission-plugins and disable-admission-plugins overlapped`,
    )
  }
  const chosen = all.filter(
    ({ name }) => enable.includes(name) || (!offByDefault.has(name) && !disable.includes(name)),
  )
  const chain = admissionChain([...chosen, rbacEscalation(dependencies.checkEscalation)])
  return { plugins: chosen.map(({ name }) => name), ...chain }
}
