/** Termination message: the end of a container's log (upstream: kuberuntime_container.go, getTerminationMessage). */
import type { LogLine } from '../runtime/container-runtime.ts'

const [mostLines, mostBytes] = [80, 2048]

/** The end of a log: 80 lines, and of these 2,048 bytes, at most. */
export function messageFromLog(lines: readonly LogLine[]): string {
  const text = lines.slice(-mostLines).map((line) => line.text + (line.isPartial ? '' : '\n'))
  return Buffer.from(text.join('')).subarray(-mostBytes).toString()
}
