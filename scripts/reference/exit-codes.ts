/** The page of the exit codes. */
import { exitCodeMeanings, exitCodes } from '../../cluster/cli/exit-codes.ts'
import { code, escaped, page, table } from './markdown.ts'

export function exitCodesPage(): string {
  return page(
    'Exit codes',
    'Every command of `skiff` ends with one of these codes.',
    table(
      ['code', 'name', 'meaning'],
      Object.entries(exitCodes).map(([kind, number]) => [
        code(String(number)),
        kind,
        escaped(exitCodeMeanings[kind as keyof typeof exitCodes]),
      ]),
    ),
    'A component ends with 0 after TERM or INT, with 1 after a failure or a second signal, and with 2 when its flags are invalid.',
  )
}
