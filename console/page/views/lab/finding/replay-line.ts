/** replayLine: the command that runs the plan of a finding again. Pure. */

/** In quotes of a shell where it needs them. */
function shellWord(text: string): string {
  return /^[\w./,:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** `file`: the name of the report; its plan file lies beside it. A name that begins with a dash is no flag. */
export function replayLine(file: string): string {
  const plan = `${file.replace(/\.json$/i, '')}.yaml`
  const path = plan.startsWith('-') ? `./${plan}` : plan
  return `skiff explore replay ${shellWord(path)} --controller 'COMMAND'`
}
