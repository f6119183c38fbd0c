/** Finds the console that a cluster runs (`skiff up --console`), and makes links for it. */
import { readFileSync } from 'node:fs'
import type { Clock } from '../components/component-base/clock.ts'
import type { Cluster } from './cluster.ts'
import { createConsoleLink } from './console-link.ts'

/** A link that opens it once; undefined when the cluster runs no console that is ready. */
export async function linkOfConsole(
  { control, paths }: Pick<Cluster, 'control' | 'paths'>,
  clock: Clock,
): Promise<string | undefined> {
  const { components } = await control.call('status', {})
  const found = components.find(({ program }) => program === 'console')
  const { port, host } = found?.state === 'ready' ? (found.info ?? {}) : {}
  if (typeof port !== 'number' || typeof host !== 'string') return undefined
  const secret = readFileSync(paths.consoleSecret, 'utf8')
  return createConsoleLink({ host, port, secret }, clock)
}
