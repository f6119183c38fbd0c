/** What is wrong with a Stage: the file, the line, and the reason. */
import type { Located } from './stage.ts'

export class StageError extends Error {
  constructor({ file, line }: Pick<Located, 'file' | 'line'>, reason: string, cause?: unknown) {
    super(`${file}:${line}: ${reason}`, cause === undefined ? undefined : { cause })
    this.name = 'StageError'
  }
}
