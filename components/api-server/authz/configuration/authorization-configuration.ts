/** AuthorizationConfiguration: the authorizers in order (upstream: apiserver/pkg/apis/apiserver, and its validation). */
import { statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { apiGroup, type Dialect } from '../../../api/dialect.ts'
import { parseDuration } from '../../../component-base/flags.ts'
import {
  duplicateValue,
  invalidValue,
  requiredValue,
  tooMany,
  unsupportedValue,
} from '../../../machinery/validation/field-errors.ts'
import { subdomain } from '../../../machinery/validation/names.ts'
import type { FieldError } from '../../../machinery/objects/status-error.ts'
import { CelCompileError, compileCel, type CelProgram } from '../../../cel/cel.ts'
import { bool, listOf, mapOf, string, type CelType } from '../../../cel/cel-types.ts'
import {
  document,
  durationText,
  list,
  struct,
  text,
} from '../../../machinery/configuration/config-schema.ts'
import {
  readConfiguration,
  refuseFieldErrors,
} from '../../../machinery/configuration/read-configuration.ts'

const mostConditions = 64
const longestTimeoutMs = 30_000
const types = ['Node', 'RBAC', 'Webhook'] as const

const schema = document('AuthorizationConfiguration', {
  authorizers: list(
    struct('AuthorizerConfiguration', {
      type: text,
      name: text,
      webhook: struct('WebhookConfiguration', {
        authorizedTTL: durationText,
        unauthorizedTTL: durationText,
        timeout: durationText,
        subjectAccessReviewVersion: text,
        matchConditionSubjectAccessReviewVersion: text,
        failurePolicy: text,
        connectionInfo: struct('WebhookConnectionInfo', { type: text, kubeConfigFile: text }),
        matchConditions: list(struct('WebhookMatchCondition', { expression: text })),
      }),
    }),
  ),
})

interface RawWebhook {
  readonly authorizedTTL?: string
  readonly unauthorizedTTL?: string
  readonly timeout?: string
  readonly subjectAccessReviewVersion?: string
  readonly matchConditionSubjectAccessReviewVersion?: string
  readonly failurePolicy?: string
  readonly connectionInfo?: { readonly type?: string; readonly kubeConfigFile?: string }
  readonly matchConditions?: readonly { readonly expression?: string }[]
}

interface RawConfiguration {
  readonly authorizers?: readonly {
    readonly type?: string
    readonly name?: string
    readonly webhook?: RawWebhook
  }[]
}

export interface WebhookConfig {
  readonly authorizedTtlMs: number
  readonly unauthorizedTtlMs: number
  readonly timeoutMs: number
  readonly version: 'v1' | 'v1beta1'
  readonly failurePolicy: 'NoOpinion' | 'Deny'
  /** Undefined: the cluster that this server runs in. */
  readonly kubeconfigFile: string | undefined
  readonly matchConditions: readonly CelProgram[]
}

export type AuthorizerConfig =
  | { readonly type: 'Node' | 'RBAC'; readonly name: string }
  | { readonly type: 'Webhook'; readonly name: string; readonly webhook: WebhookConfig }

const selector: CelType = {
  kind: 'object',
  name: 'kubernetes.SelectorAttributes',
  fields: {
    rawSelector: string,
    requirements: listOf({
      kind: 'object',
      name: 'kubernetes.SelectorRequirement',
      fields: { key: string, operator: string, values: listOf(string) },
    }),
  },
}
const variables: Readonly<Record<string, CelType>> = {
  request: {
    kind: 'object',
    name: 'kubernetes.SubjectAccessReviewSpec',
    fields: {
      resourceAttributes: {
        kind: 'object',
        name: 'kubernetes.ResourceAttributes',
        fields: {
          namespace: string,
          verb: string,
          group: string,
          version: string,
          resource: string,
          subresource: string,
          name: string,
          fieldSelector: selector,
          labelSelector: selector,
        },
      },
      nonResourceAttributes: {
        kind: 'object',
        name: 'kubernetes.NonResourceAttributes',
        fields: { path: string, verb: string },
      },
      user: string,
      groups: listOf(string),
      extra: mapOf(string, listOf(string)),
      uid: string,
    },
  },
}

/** Reads and checks the file's text. Throws ConfigurationError. */
export function parseAuthorizationConfiguration(
  source: string,
  dialect: Dialect,
): readonly AuthorizerConfig[] {
  const { authorizers = [] } = readConfiguration<RawConfiguration>(source, {
    kind: 'AuthorizationConfiguration',
    group: apiGroup(dialect, 'apiserver.config'),
    versions: ['v1', 'v1beta1', 'v1alpha1'],
    schema,
  })
  const errors: FieldError[] = []
  if (authorizers.length === 0) {
    errors.push(requiredValue('authorizers', 'at least one authorization mode must be defined'))
  }
  const seen = { types: new Set<string>(), names: new Set<string>() }
  const configs = authorizers.map(({ type = '', name = '', webhook }, i): AuthorizerConfig => {
    const at = `authorizers[${i}]`
    checkType(type, `${at}.type`, { seen: seen.types, errors })
    checkName(name, `${at}.name`, { seen: seen.names, errors })
    if (type !== 'Webhook') {
      if (webhook !== undefined) {
        const detail = 'may only be specified when type=Webhook'
        errors.push(invalidValue(`${at}.webhook`, { value: 'non-null', detail }))
      }
      return { type: type === 'Node' ? 'Node' : 'RBAC', name }
    }
    if (webhook === undefined) {
      errors.push(requiredValue(`${at}.webhook`, 'required when type=Webhook'))
    }
    return { type, name, webhook: webhookOf(webhook ?? {}, `${at}.webhook`, errors) }
  })
  refuseFieldErrors(errors)
  return configs
}

interface Checked {
  readonly seen: Set<string>
  readonly errors: FieldError[]
}

function checkType(type: string, at: string, { seen, errors }: Checked): void {
  if (type === '') errors.push(requiredValue(at))
  else if (!types.includes(type as 'Node')) {
    errors.push(unsupportedValue(at, { value: type, supported: types }))
  } else if (type !== 'Webhook' && seen.has(type)) errors.push(duplicateValue(at, type))
  seen.add(type)
}

function checkName(name: string, at: string, { seen, errors }: Checked): void {
  if (name === '') errors.push(requiredValue(at))
  else if (seen.has(name)) errors.push(duplicateValue(at, name))
  else if (subdomain(name).length > 0) {
    const detail = `authorizer name is invalid: ${subdomain(name).join(', ')}`
    errors.push(invalidValue(at, { value: name, detail }))
  }
  seen.add(name)
}

function webhookOf(raw: RawWebhook, at: string, errors: FieldError[]): WebhookConfig {
  const duration = (value: string | undefined, name: string): number | undefined => {
    if (value === undefined) return undefined
    const ms = parseDuration(value)
    if (ms === undefined) {
      errors.push(invalidValue(`${at}.${name}`, { value, detail: 'must be a duration like 30s' }))
    }
    return ms
  }
  const ttl = (name: 'authorizedTTL' | 'unauthorizedTTL', standardMs: number): number => {
    const ms = duration(raw[name], name) ?? standardMs
    if (ms <= 0) {
      const detail = 'must be > 0s'
      errors.push(invalidValue(`${at}.${name}`, { value: raw[name] ?? '', detail }))
    }
    return ms
  }
  const timeoutMs = duration(raw.timeout, 'timeout') ?? 0
  if (raw.timeout === undefined || timeoutMs === 0) errors.push(requiredValue(`${at}.timeout`))
  else if (timeoutMs < 0 || timeoutMs > longestTimeoutMs) {
    const detail = 'must be > 0s and <= 30s'
    errors.push(invalidValue(`${at}.timeout`, { value: raw.timeout, detail }))
  }
  const choice = <T extends string>(name: keyof RawWebhook, supported: readonly [T, ...T[]]): T => {
    const value = (raw[name] ?? '') as string
    if (value === '') errors.push(requiredValue(`${at}.${name}`))
    else if (!supported.includes(value as T)) {
      errors.push(unsupportedValue(`${at}.${name}`, { value, supported }))
    }
    return supported.find((one) => one === value) ?? supported[0]
  }
  const version = choice('subjectAccessReviewVersion', ['v1', 'v1beta1'])
  choice('matchConditionSubjectAccessReviewVersion', ['v1'])
  return {
    authorizedTtlMs: ttl('authorizedTTL', 300_000),
    unauthorizedTtlMs: ttl('unauthorizedTTL', 30_000),
    timeoutMs,
    version,
    failurePolicy: choice('failurePolicy', ['NoOpinion', 'Deny']),
    kubeconfigFile: kubeconfigOf(raw, `${at}.connectionInfo`, errors),
    matchConditions: conditionsOf(raw, `${at}.matchConditions`, errors),
  }
}

function kubeconfigOf(raw: RawWebhook, at: string, errors: FieldError[]): string | undefined {
  const { type = '', kubeConfigFile: file } = raw.connectionInfo ?? {}
  const place = `${at}.kubeConfigFile`
  if (type === '') errors.push(requiredValue(`${at}.type`))
  else if (type === 'InClusterConfig') {
    if (file !== undefined) {
      const detail = 'can only be set when type=KubeConfigFile'
      errors.push(invalidValue(place, { value: file, detail }))
    }
  } else if (type !== 'KubeConfigFile') {
    const supported = ['InClusterConfig', 'KubeConfigFile']
    errors.push(unsupportedValue(`${at}.type`, { value: type, supported }))
  } else if (file === undefined || file === '') errors.push(requiredValue(place))
  else {
    const refuse = (detail: string): void => {
      errors.push(invalidValue(place, { value: file, detail }))
    }
    if (!isAbsolute(file)) refuse('must be an absolute path')
    else {
      const found = statSync(file, { throwIfNoEntry: false })
      if (found === undefined) refuse('error loading file: no such file or directory')
      else if (!found.isFile()) refuse('must be a regular file')
    }
    return file
  }
  return undefined
}

function conditionsOf(raw: RawWebhook, at: string, errors: FieldError[]): CelProgram[] {
  const conditions = raw.matchConditions ?? []
  if (conditions.length > mostConditions) {
    errors.push(tooMany(at, conditions.length, mostConditions))
    return []
  }
  const seen = new Set<string>()
  const programs: CelProgram[] = []
  for (const [i, { expression = '' }] of conditions.entries()) {
    const place = `${at}[${i}].expression`
    if (expression.trim() === '') {
      errors.push(requiredValue(place))
      continue
    }
    if (seen.has(expression)) errors.push(duplicateValue(place, expression))
    seen.add(expression)
    try {
      programs.push(compileCel(expression, { variables, results: [bool] }))
    } catch (error) {
      if (!(error instanceof CelCompileError)) throw error
      errors.push(invalidValue(place, { value: expression, detail: error.message }))
    }
  }
  return programs
}
