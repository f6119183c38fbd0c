/** Exit codes, for scripts. */
import type { ClusterErrorKind } from '../cluster-error.ts'

export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  'not-found': 3,
  'already-exists': 4,
  'not-running': 5,
  timeout: 6,
  permission: 7,
  interrupted: 130,
} as const satisfies Record<ClusterErrorKind | 'ok' | 'interrupted', number>

export const exitCodeMeanings: Record<keyof typeof exitCodes, string> = {
  ok: 'success; for `status`: every component is ready; for `why`: allowed, fine or nothing pending',
  failed:
    'failure, explained on standard error; for `status`: a component is not ready or is stuck; for `why`: denied, not as it should be or pending; for `monitor` and `smells`: something was found',
  usage: 'usage error: unknown command or flag, or an invalid value',
  'not-found': 'no such cluster, node, component, token or object',
  'already-exists': 'the cluster already runs, or the name is taken',
  'not-running': 'the cluster exists, but its supervisor is not running',
  timeout: 'timeout: not ready in time',
  permission: 'permission denied for a file, directory or port',
  interrupted: 'interrupted by Ctrl-C; an unfinished start is undone',
}

/** The part of `skiff --help` that explains exit codes. */
export function describeExitCodes(): string {
  return Object.entries(exitCodes)
    .map(
      ([kind, code]) =>
        `  ${String(code).padEnd(5)}${exitCodeMeanings[kind as keyof typeof exitCodes]}\n`,
    )
    .join('')
}
