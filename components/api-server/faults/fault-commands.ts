/** fault-commands: the commands by which the process that started the server has it obey faults. */
import type { Commands } from '../../component-base/commands.ts'
import type { Faults } from './faults.ts'

/** `faults` and `fault-counts`. A command that cannot be obeyed rejects with an error that says why. */
export function takeFaultCommands(commands: Commands, faults: Faults): void {
  commands.on('faults', async (params) => faults.obey(params))
  commands.on('fault-counts', async () => faults.counts())
}
