/** Finding etcd: the program in PATH or at a given place, of a version that the API server works with. */
import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { delimiter, join, resolve } from 'node:path'
import { ClusterError } from '../cluster-error.ts'

const packageHint =
  'install it (apt-get install etcd-server, dnf install etcd, brew install etcd), or pass --etcd-binary PATH'

const oldest = [3, 4] as const

async function isExecutable(path: string): Promise<boolean> {
  return await access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}

/** The absolute path, whatever program is there. Rejects with a ClusterError when there is none. */
export async function pathOfEtcd(
  given: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  if (given !== undefined) {
    const path = resolve(given)
    if (await isExecutable(path)) return path
    throw new ClusterError('usage', `--etcd-binary: ${path} is not a program`, {
      hint: packageHint,
    })
  }
  const name = process.platform === 'win32' ? 'etcd.exe' : 'etcd'
  for (const folder of (environment['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, name)
    if (folder !== '' && (await isExecutable(path))) return path
  }
  throw new ClusterError('failed', 'there is no etcd in PATH', { hint: packageHint })
}

const answerWithinMs = 10_000

/** What `--version` prints; '' when it cannot be run. */
function versionText(path: string): Promise<string> {
  return new Promise((done) => {
    const options = { timeout: answerWithinMs, maxBuffer: 10_000 }
    execFile(path, ['--version'], options, (error, stdout) => done(error === null ? stdout : ''))
  })
}

/** The version of the etcd there, such as 3.4.23; '' when it does not print one. */
export async function versionOfEtcd(path: string): Promise<string> {
  return /^etcd Version: (\d+\.\d+\S*)/m.exec(await versionText(path))?.[1] ?? ''
}

/** Resolves with the absolute path. Rejects with a ClusterError when etcd is missing or too old, or the program is not etcd. */
export async function findEtcd(
  given: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const path = await pathOfEtcd(given, environment)
  const version = await versionOfEtcd(path)
  if (version === '') {
    throw new ClusterError('failed', `${path} does not print the version of an etcd`, {
      hint: packageHint,
    })
  }
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = major < oldest[0] || (major === oldest[0] && minor < oldest[1])
  if (!isOld) return path
  throw new ClusterError(
    'failed',
    `${path} is etcd ${version}: ${oldest.join('.')} is the oldest that works`,
    {
      hint: packageHint,
    },
  )
}
