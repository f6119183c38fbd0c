/** Audit by its flags: policy, format and outputs of the records. */
import { dialectNamed, dialects, type Dialect } from '../../api/dialect.ts'
import type { Clock } from '../../component-base/clock.ts'
import { StartError } from '../../component-base/component.ts'
import type { Log } from '../../component-base/log.ts'
import type { Audit } from './audit.ts'
import type { ApiServerOptions } from '../configuration/options.ts'
import { openAuditLogFile } from './log-file.ts'
import type { AuditOutput } from './log-file.ts'
import { createAuditPolicy, defaultAuditPolicy } from './policy.ts'
import { readAuditPolicy } from './policy-file.ts'
import { legacyLine } from './record.ts'
import { auditModes, createAuditSink, joinedSinks } from './sink.ts'
import type { AuditMode, AuditSink } from './sink.ts'

const megabyte = 1024 * 1024
const dayMs = 24 * 60 * 60 * 1000
/** The default of upstream's log writer. */
const defaultMegabytes = 100

function standardOutput(): AuditOutput {
  return {
    write: (lines) =>
      new Promise((resolve, reject) => {
        process.stdout.write(lines.join(''), (error) => (error ? reject(error) : resolve()))
      }),
    close: async () => {},
  }
}

function checkNotNegative(options: ApiServerOptions): void {
  for (const name of ['audit-log-maxage', 'audit-log-maxbackup', 'audit-log-maxsize'] as const) {
    if (options[name] < 0)
      throw new StartError(`--${name} must not be negative, but is ${options[name]}`)
  }
}

interface Base {
  readonly clock: Clock
  readonly log: Log
}

const modeOf = (text: string): AuditMode => auditModes.find((one) => one === text) ?? 'blocking'

async function openLog(options: ApiServerOptions, { clock, log }: Base): Promise<AuditSink> {
  const { 'audit-log-path': path = '' } = options
  const output =
    path === '-'
      ? standardOutput()
      : await openAuditLogFile({
          path,
          maxBytes: (options['audit-log-maxsize'] || defaultMegabytes) * megabyte,
          maxBackups: options['audit-log-maxbackup'],
          maxAgeMs: options['audit-log-maxage'] * dayMs,
          compress: options['audit-log-compress'],
          clock,
          log,
        }).catch((error: unknown) => {
          const why = (error as Error).message
          throw new StartError(`--audit-log-path: ${why}`, error)
        })
  const sink = createAuditSink({ output, mode: modeOf(options['audit-log-mode']), log })
  const isLegacy = options['audit-log-format'] === 'legacy'
  return isLegacy ? { ...sink, write: (line) => sink.write(legacyLine(line)) } : sink
}

async function openWebhook(
  options: ApiServerOptions,
  { clock, log, dialect }: Base & { dialect: Dialect },
): Promise<AuditSink> {
  const { 'audit-webhook-config-file': path = '', 'audit-webhook-batch-max-size': batchSize } =
    options
  if (batchSize < 1) throw new StartError('--audit-webhook-batch-max-size must be at least 1')
  const [{ webhookConnectionOf }, { openAuditWebhook }] = await Promise.all([
    import('../egress/webhook-client.ts'),
    import('./webhook.ts'),
  ])
  const connection = await webhookConnectionOf(path).catch((error: unknown) => {
    throw new StartError(`--audit-webhook-config-file: ${(error as Error).message}`, error)
  })
  const output = openAuditWebhook(connection, {
    apiVersion: `audit.${dialect.apiDomain}/v1`,
    batchSize,
    initialBackoffMs: options['audit-webhook-initial-backoff'],
    clock,
  })
  return createAuditSink({ output, mode: modeOf(options['audit-webhook-mode']), log })
}

/** Undefined without an output. Rejects with a StartError whose message tells the operator which flag or file is wrong. */
export async function openAudit(options: ApiServerOptions, base: Base): Promise<Audit | undefined> {
  const { 'audit-policy-file': policyFile } = options
  const dialect = dialectNamed(options.dialect) ?? dialects.kubernetes
  checkNotNegative(options)
  const policy = policyFile ? readAuditPolicy(policyFile, dialect) : defaultAuditPolicy
  const sinks = [
    ...(options['audit-log-path'] ? [await openLog(options, base)] : []),
    ...(options['audit-webhook-config-file']
      ? [await openWebhook(options, { ...base, dialect })]
      : []),
  ]
  if (sinks.length === 0) {
    if (policyFile) {
      base.log.warn('--audit-policy-file without a log or a webhook: nothing is recorded')
    }
    return undefined
  }
  return { sink: joinedSinks(sinks), decide: createAuditPolicy(policy), clock: base.clock }
}
