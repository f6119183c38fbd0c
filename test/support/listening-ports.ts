/** The ports where this machine listens by TCP: from /proc, elsewhere by netstat. */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tcpListeners } from '../e2e/machine.ts'

/** Rows of `netstat -an` of macOS (`127.0.0.1.6443 *.* LISTEN`) and of Windows (`127.0.0.1:6443 0.0.0.0:0 LISTENING`). */
export function portsOfNetstat(text: string): number[] {
  return [...text.matchAll(/[.:](\d+)\s+\S+\s+LISTEN/g)].map(([, port]) => Number(port))
}

export function listeningPorts(): Set<number> {
  if (existsSync('/proc/net/tcp')) {
    return new Set(tcpListeners().map(({ address }) => parseInt(address.split(':')[1] ?? '', 16)))
  }
  return new Set(
    portsOfNetstat(execFileSync('netstat', ['-an', '-p', 'tcp'], { encoding: 'utf8' })),
  )
}
