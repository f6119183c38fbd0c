/** The processes of this machine: by the files of /proc, elsewhere by ps; none on Windows, and standard error says so. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

export interface ListedProcess {
  readonly pid: number
  readonly parent: number
  readonly command: string
  /** The environment of processes of this user. */
  readonly environment: string
}

/** Undefined for a zombie, and for a process that is gone or another user's. */
function readProcess(pid: string): ListedProcess | undefined {
  try {
    const read = (name: string): string => readFileSync(`/proc/${pid}/${name}`, 'utf8')
    const command = read('cmdline').replaceAll('\0', ' ').trim()
    // The state follows the name, which may contain anything; then comes the parent.
    const [state, parent] = read('stat')
      .replace(/^.*\) /s, '')
      .split(' ')
    if (state === 'Z') return undefined
    return { pid: Number(pid), parent: Number(parent), command, environment: read('environ') }
  } catch {
    return undefined
  }
}

/** What BSD's ps prints: the environment follows the command. */
export function parsePs(text: string): ListedProcess[] {
  return text.split('\n').flatMap((row) => {
    const [, pid, parent, state = 'Z', command = ''] =
      /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(row) ?? []
    if (state.startsWith('Z')) return []
    return [{ pid: Number(pid), parent: Number(parent), command, environment: command }]
  })
}

export function listProcesses(): ListedProcess[] {
  if (existsSync('/proc/self/stat')) {
    return readdirSync('/proc')
      .filter((entry) => /^\d+$/.test(entry))
      .flatMap((pid) => readProcess(pid) ?? [])
  }
  if (process.platform === 'win32') {
    process.stderr.write('NOT TESTED: that no process is left: Windows shows no environments\n')
    return []
  }
  const columns = ['pid=', 'ppid=', 'stat=', 'command='].flatMap((one) => ['-o', one])
  return parsePs(
    execFileSync('ps', ['-A', '-E', '-ww', ...columns], {
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    }),
  )
}
