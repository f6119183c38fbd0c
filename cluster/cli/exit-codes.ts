/** Exit codes: what scripts can tell apart. */
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
  ok: 'done; for `status`: every component is ready; for `why`: allowed',
  failed:
    'it failed; standard error says why; for `status`: a component is not ready, or is stuck; for `why`: denied',
  usage: 'wrong use: unknown command or flag, invalid value',
  'not-found': 'no such cluster, node, component or token',
  'already-exists': 'the cluster is running already, or the name is taken',
  'not-running': 'the cluster exists, but its supervisor does not run',
  timeout: 'it was not ready in time',
  permission: 'missing rights on a file, directory or port',
  interrupted: 'stopped by Ctrl-C; what was under way has been undone',
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
