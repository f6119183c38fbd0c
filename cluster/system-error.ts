/** System errors: a failed file operation as a ClusterError with a hint. */
import { ClusterError } from './cluster-error.ts'

function isSystemError(error: unknown): error is NodeJS.ErrnoException & { code: string } {
  return error instanceof Error && 'syscall' in error && 'code' in error
}

/** A failed file operation as a ClusterError about `path` (by default the path of the error); other errors unchanged. */
export function explainSystemError(error: unknown, path?: string): unknown {
  if (!isSystemError(error)) return error
  const file = path ?? error.path
  if (file === undefined) return error
  const { code } = error
  switch (code) {
    case 'ENOENT':
      return new ClusterError('failed', `${file}: no such file or directory`, {
        hint: 'check the path',
        cause: error,
      })
    case 'EISDIR':
      return new ClusterError('failed', `${file} is a directory, not a file`, {
        hint: 'check the path',
        cause: error,
      })
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new ClusterError('permission', `permission denied for ${file} (${code})`, {
        hint: 'give your user access to it, or choose another path',
        cause: error,
      })
    case 'ENOSPC':
    case 'EDQUOT':
      return new ClusterError('failed', `no space left for ${file}`, {
        hint: 'free some space, or choose another disk',
        cause: error,
      })
    default:
      return error
  }
}

/** Runs a file operation on `path`; a system error becomes a ClusterError. */
export async function explained<T>(path: string, operation: () => T | Promise<T>): Promise<T> {
  try {
    return await operation()
  } catch (error) {
    throw explainSystemError(error, path)
  }
}
