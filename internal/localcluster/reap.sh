# Ends one run: kills every process that was started through a link in the run folder, then deletes the folder.
# It needs nothing but a POSIX shell, because it also runs after the program that wrote it has died.
# $1 is the run folder. With a second argument it first waits for its standard input to close.
run=$1
[ -z "$2" ] || cat >/dev/null

# Started through a link: the first argument of the process, which is the path that was executed, is in the run folder.
# A pid file could name a stranger by now, and an editor or a tail on one of our logs is none of ours.
pids() {
	if [ -r /proc/self/cmdline ]; then
		for file in /proc/[0-9]*/cmdline; do
			line=
			{ IFS= read -r line <"$file"; } 2>/dev/null
			case $line in "$run"/*) file=${file#/proc/} && echo "${file%/cmdline}" ;; esac
		done
	else
		ps -Axo pid=,args= | while read -r pid line; do
			case $line in "$run"/*) echo "$pid" ;; esac
		done
	fi
}

# Again until none is left: the one that is killed may just have started another.
tries=0
while found=$(pids) && [ -n "$found" ] && [ $tries -lt 100 ]; do
	kill -9 $found 2>/dev/null
	tries=$((tries + 1))
	sleep 0.1
done
rm -rf "$run"
[ -z "$found" ]
