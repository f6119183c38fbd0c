/** authorization: the authorizers of a running server in their order, from its flags or its configuration file. */
import { apiGroup, type Dialect } from '../../api/dialect.ts'
import type { FeatureGates } from '../../api/feature-gates.ts'
import { aborted } from '../../component-base/aborted.ts'
import type { Clock } from '../../component-base/clock.ts'
import { StartError } from '../../component-base/component.ts'
import { environment } from '../../component-base/environment.ts'
import type { Log } from '../../component-base/log.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import {
  createLocalModules,
  parseAuthorizationModes,
  type AuthorizationMode,
  type LocalModules,
} from './authorization-modes.ts'
import type { Authorizer } from './authorizer.ts'
import type { RbacIndex } from './rbac-index.ts'
import { authorizeInOrder } from './union.ts'
import type {
  AuthorizerConfig,
  WebhookConfig,
} from './configuration/authorization-configuration.ts'
import { readFlagFile } from '../../component-base/flag-file.ts'
import {
  openConfigurationFile,
  type ConfigurationFile,
} from '../configuration/configuration-file.ts'
import { showConfigurationHash } from '../configuration/reload-metrics.ts'
import { countDecisions } from './authorization-metrics.ts'
import type { ObjectReader } from '../watch-cache/object-reader.ts'
import type { Dial } from '../egress/egress-selector.ts'
import type { ApiServerOptions } from '../configuration/options.ts'

/** The time limit of one review by the webhook of the flags (upstream: the client's own). */
const flagWebhookTimeoutMs = 30_000

export interface AuthorizationModule {
  readonly type: AuthorizationMode
  readonly authorizer: Authorizer
}

export interface Authorization {
  /** All modules as one, in order; after a reload the new ones. */
  readonly authorizer: Authorizer
  /** The modules in order, for explanations. */
  readonly modules: () => readonly AuthorizationModule[]
  /** Built for every mode, since escalation checks need it. */
  readonly rbacIndex: RbacIndex
  /** Whether RBAC is one of the modes. */
  readonly usesRbac: boolean
  /** Why the newest configuration file is not in use; undefined without a file. */
  readonly configFault: (() => string | undefined) | undefined
  /** Follows the configuration file until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>
}

interface AuthorizationParts {
  readonly reader: ObjectReader
  readonly dialect: Dialect
  readonly clock: Clock
  readonly log: Log
  readonly gates: FeatureGates
  readonly metrics: Metrics
  /** How to dial webhooks. */
  readonly dial: Dial | undefined
}

/** One module before it is built: a mode of the flags, or an element of the file. */
type ModuleConfig =
  AuthorizerConfig | { readonly type: 'AlwaysAllow' | 'AlwaysDeny' | 'ABAC'; readonly name: string }

function webhookByFlags(options: ApiServerOptions): WebhookConfig {
  return {
    authorizedTtlMs: options['authorization-webhook-cache-authorized-ttl'],
    unauthorizedTtlMs: options['authorization-webhook-cache-unauthorized-ttl'],
    timeoutMs: flagWebhookTimeoutMs,
    version: options['authorization-webhook-version'] === 'v1' ? 'v1' : 'v1beta1',
    failurePolicy: 'NoOpinion',
    kubeconfigFile: options['authorization-webhook-config-file'],
    matchConditions: [],
  }
}

function byFlags(options: ApiServerOptions): ModuleConfig[] {
  const modes = ((): AuthorizationMode[] => {
    try {
      return parseAuthorizationModes(options['authorization-mode'] || 'AlwaysAllow')
    } catch (error) {
      throw new StartError((error as Error).message, error)
    }
  })()
  const files = [
    [
      'ABAC',
      'authorization-policy-file',
      "authorization-mode ABAC's authorization policy file not passed",
    ],
    [
      'Webhook',
      'authorization-webhook-config-file',
      "authorization-mode Webhook's authorization config file not passed",
    ],
  ] as const
  for (const [mode, name, missing] of files) {
    const isGiven = (options[name] ?? '') !== ''
    if (modes.includes(mode) && !isGiven) throw new StartError(missing)
    if (!modes.includes(mode) && isGiven) {
      throw new StartError(`cannot specify --${name} without mode ${mode}`)
    }
  }
  return modes.map((type): ModuleConfig =>
    type === 'Webhook'
      ? { type, name: 'default', webhook: webhookByFlags(options) }
      : { type, name: type.toLowerCase() },
  )
}

/** The file of --authorization-config, read and checked; undefined without one. */
async function openConfiguration(
  options: ApiServerOptions,
  { gates, dialect }: AuthorizationParts,
): Promise<ConfigurationFile<readonly AuthorizerConfig[]> | undefined> {
  const path = options['authorization-config'] ?? ''
  if (path === '') return undefined
  if (!gates.StructuredAuthorizationConfiguration) {
    throw new StartError(
      '--authorization-config cannot be used without enabling the StructuredAuthorizationConfiguration feature flag',
    )
  }
  const others = [
    'authorization-mode',
    'authorization-webhook-config-file',
    'authorization-policy-file',
  ] as const
  if (others.some((name) => (options[name] ?? '') !== '')) {
    throw new StartError(
      '--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined',
    )
  }
  const { parseAuthorizationConfiguration } =
    await import('./configuration/authorization-configuration.ts')
  return await openConfigurationFile({ flag: 'authorization-config', path }, (content) =>
    parseAuthorizationConfiguration(content, dialect),
  )
}

async function webhookOf(
  { name, webhook }: { readonly name: string; readonly webhook: WebhookConfig },
  parts: AuthorizationParts,
): Promise<Authorizer> {
  const { clock, log, dialect, gates } = parts
  const [{ createWebhookClient, inClusterConnection, webhookConnectionOf }, { webhookAuthorizer }] =
    await Promise.all([import('../egress/webhook-client.ts'), import('./webhook-authorizer.ts')])
  const connection =
    webhook.kubeconfigFile === undefined
      ? inClusterConnection({ environment, dialect })
      : await webhookConnectionOf(webhook.kubeconfigFile)
  return webhookAuthorizer({
    ...webhook,
    name,
    client: createWebhookClient(connection, {
      clock,
      timeoutMs: webhook.timeoutMs,
      dial: parts.dial,
    }),
    apiVersion: `${apiGroup(dialect, 'authorization')}/${webhook.version}`,
    withSelectors: gates.AuthorizeWithSelectors,
    clock,
    log,
  })
}

async function abacOf(options: ApiServerOptions, dialect: Dialect): Promise<Authorizer> {
  const { abacAuthorizer, parsePolicies } = await import('./abac.ts')
  const path = options['authorization-policy-file'] ?? ''
  const source = readFlagFile('authorization-policy-file', path)
  try {
    return abacAuthorizer(parsePolicies(source, dialect))
  } catch (error) {
    const why = (error as Error).message
    throw new StartError(`--authorization-policy-file: ${path}, ${why}`, error)
  }
}

/** Builds modules from their configurations. */
function moduleBuilder(
  options: ApiServerOptions,
  { parts, local }: { parts: AuthorizationParts; local: LocalModules },
): (configs: readonly ModuleConfig[]) => Promise<AuthorizationModule[]> {
  const build = async (config: ModuleConfig): Promise<Authorizer> => {
    switch (config.type) {
      case 'ABAC':
        return await abacOf(options, parts.dialect)
      case 'Webhook':
        return await webhookOf(config, parts)
      default:
        return local.of(config.type)
    }
  }
  return (configs) =>
    Promise.all(
      configs.map(async (config) => {
        const authorizer = { ...(await build(config)), name: config.name }
        return { type: config.type, authorizer }
      }),
    )
}

/** The modules in use. `use` replaces all of them once the new ones have been built, and closes the old ones. */
function reloadableModules(
  build: ReturnType<typeof moduleBuilder>,
  counted: ReturnType<typeof countDecisions>,
) {
  let usesRbac = false
  let modules: readonly AuthorizationModule[] = []
  let current: Authorizer = authorizeInOrder([])
  const closeAll = (): void => {
    for (const { authorizer } of modules) authorizer.close?.()
  }
  const authorizer: Authorizer = {
    name: 'union',
    authorize: (attributes) => current.authorize(attributes),
    rulesFor: (user, namespace) =>
      current.rulesFor?.(user, namespace) ?? {
        resourceRules: [],
        nonResourceRules: [],
        incomplete: true,
      },
  }
  return {
    authorizer,
    modules: () => modules,
    usesRbac: () => usesRbac,
    closeAll,
    async use(configs: readonly ModuleConfig[]): Promise<void> {
      const next = await build(configs)
      closeAll()
      modules = next
      current = authorizeInOrder(modules.map((one) => counted(one.authorizer, one.type)))
      usesRbac = configs.some(({ type }) => type === 'RBAC')
    },
  }
}

/** Builds the modules and reads every file that the flags name. Rejects with StartError when the operator must fix a flag or file. */
export async function createAuthorization(
  options: ApiServerOptions,
  parts: AuthorizationParts,
): Promise<Authorization> {
  const { reader, dialect, clock, log, gates, metrics } = parts
  const configuration = await openConfiguration(options, parts)
  const local = createLocalModules({
    reader,
    dialect,
    authorizeNodeWithSelectors: gates.AuthorizeNodeWithSelectors,
  })
  const inUse = reloadableModules(moduleBuilder(options, { parts, local }), countDecisions(metrics))
  const serverId = apiGroup(dialect, 'authorization')
  const showHash = showConfigurationHash(metrics, { subsystem: 'authorization', serverId })
  const use = async (configs: readonly AuthorizerConfig[], text: string): Promise<void> => {
    await inUse.use(configs)
    showHash(text)
  }
  try {
    if (configuration === undefined) await inUse.use(byFlags(options))
    else await use(configuration.initial, configuration.initialText)
  } catch (error) {
    if (error instanceof StartError) throw error
    const from =
      configuration === undefined
        ? '--authorization-webhook-config-file'
        : `--authorization-config: ${configuration.path}`
    throw new StartError(`${from}: ${(error as Error).message}`, error)
  }
  return {
    authorizer: inUse.authorizer,
    modules: inUse.modules,
    rbacIndex: local.rbacIndex,
    get usesRbac() {
      return inUse.usesRbac()
    },
    configFault: configuration?.fault,
    async run(signal) {
      const subsystem = 'authorization'
      const following = configuration?.follow({
        clock,
        log,
        metrics,
        subsystem,
        serverId,
        signal,
        use,
      })
      await Promise.all([following, aborted(signal)])
      local.stop()
      inUse.closeAll()
    },
  }
}
