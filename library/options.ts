/** Options of clusters, checked at the door: unknown names, wrong types, values out of range. Durations come out in milliseconds. */
import { subdomain } from '../components/machinery/validation/names.ts'
import { parseQuantity } from '../components/machinery/values/quantity.ts'
import type { ChaosSpec } from '../cluster/lab/chaos/chaos-report.ts'
import { mixOf, mixShape, seedShape } from '../cluster/lab/chaos/mix-shape.ts'
import { optional, plain } from '../cluster/shape.ts'
import type { Shape } from '../cluster/shape.ts'
import { parseCondition } from '../scenarios/engine/where.ts'
import {
  anyObject,
  checkedBy,
  date,
  dictionary,
  duration,
  either,
  flag,
  listOf,
  notEmpty,
  oneOf,
  options,
  parsable,
  signal,
  text,
  whole,
  word,
} from './option-shapes.ts'
import type {
  ApiResource,
  ApiServiceOptions,
  ConversionOptions,
  Expectation,
  Identity,
  KubernetesObject,
  MonitorOptions,
  NodeOptions,
  ScenarioOptions,
  StartClusterOptions,
  WebhookOptions,
} from './types.ts'

/** Options whose durations are milliseconds. */
type Checked<T> = {
  readonly [K in keyof T]: K extends 'within' | 'stays' ? number | undefined : T[K]
}
/** One shape for each option: a new option without one does not compile. */
type ShapesOf<T> = Record<keyof T, Shape<unknown>>

const mostNodes = 100

const nodeName = plain('a name of lower case letters, digits, dashes and dots', (value) =>
  typeof value === 'string' && subdomain(value).length === 0 ? value : undefined,
)
const taint = plain('a taint such as dedicated=db:NoSchedule', (value) =>
  typeof value === 'string' &&
  /^[^=:]+(=[^:]*)?:(NoSchedule|PreferNoSchedule|NoExecute)$/.test(value)
    ? value
    : undefined,
)

function isAmount(value: string): boolean {
  try {
    return parseQuantity(value).nanos >= 0n
  } catch {
    return false // no quantity at all
  }
}
const quantity = plain('a quantity such as 4, 500m or 8Gi', (value) =>
  typeof value === 'string' && isAmount(value) ? value : undefined,
)

const nodeFields = {
  name: nodeName,
  labels: optional(dictionary('an object of labels', text)),
  taints: optional(listOf('a list of taints', taint)),
  capacity: optional(dictionary('an object of quantities', quantity)),
} satisfies ShapesOf<NodeOptions>
const node = options('an object', nodeFields)

const nodeList: Shape<NodeOptions[]> = {
  ...listOf('a list of nodes', node),
  check: (value, path, issues) => {
    const nodes = listOf('a list of nodes', node).check(value, path, issues)
    const names = nodes.map(({ name }) => name)
    for (const [index, name] of names.entries()) {
      if (name !== undefined && names.indexOf(name) < index)
        issues.push({
          path: [...path, index, 'name'],
          message: `is the name of two nodes: ${name}`,
        })
    }
    if (nodes.length > mostNodes)
      issues.push({ path: [...path, mostNodes], message: `is one too many: ${mostNodes} at most` })
    return nodes
  },
}

const flags = dictionary(
  'an object of flags without dashes, such as v or audit-log-path',
  text,
  (name) => /^[A-Za-z][\w-]*$/.test(name),
)
/** Fields that every manifest has; the server judges the rest. */
const kubernetesObject: Shape<KubernetesObject> = {
  ...anyObject,
  check: (value, path, issues) => {
    const given = anyObject.check(value, path, issues) as KubernetesObject | undefined
    if (given === undefined) return {}
    word.check(given.kind, [...path, 'kind'], issues)
    anyObject.check(given.metadata ?? {}, [...path, 'metadata'], issues)
    return given
  },
}

const startFields = {
  form: optional(oneOf('embedded', 'processes')),
  nodes: optional(either('number', whole(0, mostNodes), nodeList)),
  manifests: optional(listOf('a list of files and folders', word)),
  objects: optional(listOf('a list of objects', kubernetesObject)),
  components: optional(listOf('a list of components', oneOf('controller-manager', 'scheduler'))),
  stages: optional(notEmpty(listOf('a list of files', word))),
  flags: optional(
    options('an object', {
      'api-server': optional(flags),
      'controller-manager': optional(flags),
      scheduler: optional(flags),
      'node-agent': optional(flags),
      'stage-runner': optional(flags),
    }),
  ),
  port: optional(whole(0, 65_535)),
  seed: optional(whole(0, Number.MAX_SAFE_INTEGER)),
  startAt: optional(date),
  from: optional(word),
  within: optional(duration),
  signal: optional(signal),
} satisfies ShapesOf<StartClusterOptions>

const start = options('an object', startFields, (given, fault) => {
  const { form = 'embedded', components, nodes } = given
  const embeddedOnly = 'is an option of embedded clusters only: leave it out, or leave out form'
  if (form !== 'embedded' && given.seed !== undefined) fault('seed', embeddedOnly)
  if (form !== 'embedded' && given.startAt !== undefined) fault('startAt', embeddedOnly)
  const hasNodes = typeof nodes === 'number' ? nodes > 0 : (nodes?.length ?? 0) > 0
  if (hasNodes && components?.includes('controller-manager') === false)
    fault('nodes', 'must be 0 without the controller manager: name it in components')
})

/** Throws an OptionError. */
export function checkStartOptions(value: unknown = {}): Checked<StartClusterOptions> {
  return checkedBy(start, 'startCluster', value)
}

/** Throws an OptionError. */
export function checkNode(door: string, value: unknown): NodeOptions {
  return checkedBy(node, door, value)
}

const count = whole(0, 1_000_000)
const condition = parsable('a condition such as status.phase == Running', parseCondition)

const expectationFields = {
  kind: word,
  apiVersion: optional(word),
  name: optional(word),
  namespace: optional(word),
  labelSelector: optional(text),
  fieldSelector: optional(text),
  where: optional(either('string', condition, listOf('a list of conditions', condition))),
  match: optional(anyObject),
  count: optional(
    either(
      'number',
      count,
      options('an object with atLeast, atMost', {
        atLeast: optional(count),
        atMost: optional(count),
      }),
    ),
  ),
  absent: optional(flag),
  within: optional(duration),
  stays: optional(duration),
  signal: optional(signal),
} satisfies ShapesOf<Expectation>

const expectation = options('an object', expectationFields, ({ absent, count: counts }, fault) => {
  if (absent === true && counts !== undefined) fault('count', 'cannot be combined with absent')
  if (typeof counts !== 'object') return
  const { atLeast, atMost } = counts
  if (atLeast === undefined && atMost === undefined) fault('count', 'must have atLeast or atMost')
  if ((atLeast ?? 0) > (atMost ?? Infinity)) fault('count', 'must not have atLeast above atMost')
})

/** Throws an OptionError. */
export function checkExpectation(value: unknown): Checked<Expectation> {
  return checkedBy(expectation, 'expect', value)
}

const identityForm = 'admin, anonymous or an object with user and groups, or with token'
const namedIdentity = plain(identityForm, (value) =>
  value === 'admin' || value === 'anonymous' ? value : undefined,
)
const otherIdentity = options(
  identityForm,
  {
    user: optional(word),
    groups: optional(listOf('a list of groups', word)),
    token: optional(word),
  },
  ({ user, groups, token }, fault) => {
    if (user === undefined && token === undefined) fault('user', 'is missing: it must be a name')
    if (token !== undefined && (user ?? groups) !== undefined)
      fault('token', 'cannot be combined with user or groups')
  },
)
const identity: Shape<unknown> = {
  ...otherIdentity,
  check: (value, path, issues) =>
    (typeof value === 'object' && value !== null ? otherIdentity : namedIdentity).check(
      value,
      path,
      issues,
    ),
}

/** Throws an OptionError. */
export function checkIdentity(door: string, value: unknown): Identity {
  return checkedBy(options('arguments', { identity }), door, { identity: value })
    .identity as Identity
}

const words = listOf('a list of words', text)
const webhookFields = {
  name: plain('a name with at least three parts, such as pods.example.com', (value) =>
    typeof value === 'string' && subdomain(value).length === 0 && value.split('.').length >= 3
      ? value
      : undefined,
  ),
  kind: oneOf('validating', 'mutating'),
  rules: listOf(
    'a list of rules',
    options('a rule', {
      apiGroups: words,
      apiVersions: words,
      resources: words,
      operations: listOf(
        'a list of operations',
        oneOf('CREATE', 'UPDATE', 'DELETE', 'CONNECT', '*'),
      ),
    }),
  ),
  failurePolicy: optional(oneOf('Fail', 'Ignore')),
  timeoutSeconds: optional(whole(1, 30)),
  namespaceSelector: optional(anyObject),
  objectSelector: optional(anyObject),
} satisfies ShapesOf<WebhookOptions>
const webhook = options('an object', webhookFields)

/** Throws an OptionError. */
export function checkWebhook(value: unknown): WebhookOptions {
  return checkedBy(webhook, 'webhook', value)
}

const crdName = plain(
  'the name of a CustomResourceDefinition such as websites.example.com',
  (value) =>
    typeof value === 'string' && subdomain(value).length === 0 && value.includes('.')
      ? value
      : undefined,
)
const conversionFields = {
  crd: crdName,
  versions: optional(notEmpty(listOf('a list of versions', oneOf('v1', 'v1beta1')))),
} satisfies ShapesOf<ConversionOptions>
const conversion = options('an object', conversionFields)

/** Throws an OptionError. */
export function checkConversion(value: unknown): ConversionOptions {
  return checkedBy(conversion, 'conversion', value)
}

/** A lower case name of the form. */
const named = (what: string, form: RegExp): Shape<string> =>
  plain(what, (value) => (typeof value === 'string' && form.test(value) ? value : undefined))

const apiResourceFields = {
  name: named(
    'a plural such as flavors, or a subresource such as flavors/status',
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\/[a-z]+)?$/,
  ),
  kind: named('a kind such as Flavor', /^[A-Za-z][A-Za-z0-9]*$/),
  namespaced: flag,
  verbs: notEmpty(listOf('a list of verbs', word)),
  singularName: optional(text),
  shortNames: optional(words),
  categories: optional(words),
} satisfies ShapesOf<ApiResource>
const apiServiceFields = {
  group: plain('a group such as flavors.example.com', (value) =>
    typeof value === 'string' && subdomain(value).length === 0 ? value : undefined,
  ),
  version: named('a version such as v1', /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/),
  resources: optional(
    notEmpty(listOf('a list of resources', options('a resource', apiResourceFields))),
  ),
  groupPriorityMinimum: optional(whole(1, 20_000)),
  versionPriority: optional(whole(1, 1000)),
} satisfies ShapesOf<ApiServiceOptions>
const apiService = options('an object', apiServiceFields)

/** Throws an OptionError. */
export function checkApiService(value: unknown): ApiServiceOptions {
  return checkedBy(apiService, 'apiService', value)
}

const handlerArgument = options('arguments', {
  handler: plain('a function', (value) => (typeof value === 'function' ? value : undefined)),
})

/** Throws an OptionError. */
export function checkHandler<H>(door: string, handler: H): H {
  checkedBy(handlerArgument, door, { handler })
  return handler
}

/** The one option of a function that has no other: a namespace. Throws an OptionError. */
export function checkNamespace(door: string, value: unknown = {}): { readonly namespace?: string } {
  return checkedBy(options('an object', { namespace: optional(word) }), door, value)
}

const scenarioFields = {
  variables: optional(anyObject),
  signal: optional(signal),
} satisfies ShapesOf<ScenarioOptions>
const scenarioOptions = options('an object', scenarioFields)

/** Throws an OptionError. */
export function checkScenarioOptions(value: unknown = {}): ScenarioOptions {
  return checkedBy(scenarioOptions, 'scenario', value)
}

/** A duration that is given as it is, in milliseconds. Throws an OptionError. */
export function checkDuration(door: string, value: unknown): number {
  return checkedBy(duration, door, value)
}

/** A moment, in milliseconds since the epoch. Throws an OptionError. */
export function checkMoment(door: string, value: unknown): number {
  return checkedBy(date, door, value).getTime()
}

const settleOptions = options('an object', { idle: optional(duration), most: optional(duration) })

/** What `ClusterClock.settle` takes. Throws an OptionError. */
export function checkSettle(value: unknown): { idleMs?: number; mostMs?: number } {
  const { idle, most } = checkedBy(settleOptions, 'settle', value)
  return {
    ...(idle === undefined ? {} : { idleMs: idle }),
    ...(most === undefined ? {} : { mostMs: most }),
  }
}

const chaosOptions = options('options of a chaos', {
  seed: optional(seedShape),
  for: duration,
  mix: optional(mixShape),
})

/** Milliseconds, and a mix in which they are, too. */
export function checkChaos(value: unknown): ChaosSpec {
  const { seed, for: forMs, mix } = checkedBy(chaosOptions, 'faults.chaos', value)
  return {
    forMs,
    ...(seed === undefined ? {} : { seed }),
    ...(mix === undefined ? {} : { mix: mixOf(mix) }),
  }
}

const monitor = options('options of a monitor', {
  monitors: optional(
    listOf(
      'a list of monitors',
      either(
        'string',
        word,
        options('a monitor', { name: optional(word), kind: word, expression: word }),
      ),
    ),
  ),
  onViolation: optional(
    plain('a function', (value) =>
      typeof value === 'function' ? (value as MonitorOptions['onViolation']) : undefined,
    ),
  ),
} satisfies ShapesOf<MonitorOptions>)

/** Throws an OptionError. */
export function checkMonitor(value: unknown = {}): MonitorOptions {
  return checkedBy(monitor, 'monitor', value)
}

const applied = listOf('a list', either('string', word, kubernetesObject))

/** What `Cluster.apply` takes. Throws an OptionError. */
export function checkApplied(values: readonly unknown[]): readonly (string | KubernetesObject)[] {
  return checkedBy(applied, 'apply', values)
}
