/** Shell words: the program and the arguments that run a command line of the system's shell: sh, on Windows cmd.exe. */
import { environment } from '../../components/component-base/environment.ts'

/** On Windows the words are to be passed on as they are: cmd.exe takes all between the outer quotes. */
export function shellWords(
  command: string,
  platform: NodeJS.Platform = process.platform,
): readonly string[] {
  if (platform !== 'win32') return ['/bin/sh', '-c', command]
  return [environment['ComSpec'] ?? 'cmd.exe', '/d', '/s', '/c', `"${command}"`]
}
