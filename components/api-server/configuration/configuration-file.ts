/** ConfigurationFile: the file that a flag names, whose new content is used while the server runs (AUTHZ-036). */
import type { Clock } from '../../component-base/clock.ts'
import { StartError } from '../../component-base/component.ts'
import { openFollowedFile } from '../../component-base/followed-file.ts'
import type { Log } from '../../component-base/log.ts'
import type { Metrics } from '../../component-base/metrics.ts'
import { createReloadMetrics } from './reload-metrics.ts'

export interface ConfigurationFile<Configuration> {
  readonly path: string
  /** The configuration at start, and its text. */
  readonly initial: Configuration
  readonly initialText: string
  /** Why the newest content is not in use; undefined when it is. */
  fault(): string | undefined
  /** Calls `use` with each new configuration until `signal` aborts. If that or parsing throws, the last one stays in use. */
  follow(options: {
    readonly clock: Clock
    readonly log: Log
    readonly metrics: Metrics
    readonly subsystem: 'authentication' | 'authorization'
    /** Distinguishes the servers of a cluster in metrics. */
    readonly serverId: string
    readonly signal: AbortSignal
    readonly use: (configuration: Configuration, text: string) => void | Promise<void>
  }): Promise<void>
}

/** Reads and parses the file. Rejects with a StartError that names flag and path; `parse` may throw. */
export async function openConfigurationFile<Configuration>(
  { flag, path }: { readonly flag: string; readonly path: string },
  parse: (content: string) => Configuration,
): Promise<ConfigurationFile<Configuration>> {
  try {
    const file = await openFollowedFile(path)
    return {
      path,
      initial: parse(file.initialText),
      initialText: file.initialText,
      fault: () => file.fault,
      follow: ({ clock, log, metrics, subsystem, serverId, signal, use }) =>
        file.follow({
          clock,
          log,
          signal,
          onReload: createReloadMetrics(metrics, { subsystem, serverId, clock }),
          take: (content) => use(parse(content), content),
        }),
    }
  } catch (error) {
    throw new StartError(`--${flag}: ${path}: ${(error as Error).message}`, error)
  }
}
