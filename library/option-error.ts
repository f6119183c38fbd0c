/** OptionError: invalid options; one line for each, which names the option and what it may be. */
export class OptionError extends TypeError {
  readonly faults: readonly string[]
  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
    this.name = 'OptionError'
    this.faults = faults
  }
}
